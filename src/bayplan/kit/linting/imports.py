"""Check ``imports``: what a decision must not depend on, found by reading the source.

Reads the file and nothing else. Coroutines (PreBind, Bind, PostBind) may do what they like: they run after the decision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from bayplan.kit.linting.findings import Finding, Severity
from bayplan.kit.linting.subject import Subject

RULE: Final = "imports"

_DICE: Final = (
    "draws at random, so the same pod may go elsewhere when asked again",
    "use self.handle.random_below(n), which a seed repeats, and set cache = False",
)
_TIME: Final = (
    "reads the clock, so an answer that is remembered goes stale and a replay decides otherwise",
    "have a provider measure what changes with time and read node.usage, or set cache = False",
)
_NETWORK: Final = (
    "asks the network while every other pod waits",
    "have a provider ask (docs/policies.md) and read node.usage, or do it in prebind",
)
_OUTSIDE: Final = (
    "leaves the process while every other pod waits",
    "read what you need once, in setup, or have a provider read it",
)
_THREADS: Final = (
    "starts threads beside the decision loop, which slows every call to the API server",
    "have a provider fetch what you need",
)
#: By module, what is wrong with it and what to do.
FORBIDDEN: Final = {
    "random": _DICE,
    "secrets": _DICE,
    "uuid": _DICE,
    "numpy.random": _DICE,
    "time": _TIME,
    "datetime": _TIME,
    **dict.fromkeys(
        ("socket", "ssl", "http", "urllib", "urllib3", "requests", "httpx", "aiohttp", "grpc"),
        _NETWORK,
    ),
    **dict.fromkeys(("kubernetes", "kubernetes_asyncio", "lightkube", "pykube"), _NETWORK),
    **dict.fromkeys(("subprocess", "sqlite3"), _OUTSIDE),
    **dict.fromkeys(("threading", "multiprocessing", "concurrent"), _THREADS),
}
#: Parts of those that are harmless.
_HARMLESS: Final = frozenset(
    {"datetime.timedelta", "datetime.timezone", "datetime.UTC", "urllib.parse", "http.HTTPStatus"}
)
_CALLS: Final = {
    "numpy.random": _DICE,
    "open": _OUTSIDE,
    "hash": (
        "hashes, and the hash of a text is another one in every process",
        "use zlib.crc32(text.encode()) or hashlib",
    ),
    "print": (
        "prints from the decision path",
        "use logging, in postbind or setup; the record keeps what a filter said",
    ),
}


class _Import(NamedTuple):
    module: str
    line: int


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per import that a decision uses."""
    imports = _imports(subject.tree)
    deciding = _used(subject.tree)
    at_import = {"setup", "check_args"}
    severity = Severity.FAULT if subject.claims_to_be_pure else Severity.DOUBT
    for name, (module, line) in imports.items():
        places = [place for place in deciding.get(name, []) if place not in at_import]
        if places:
            problem, cure = FORBIDDEN[_forbidden(module)]
            message = f"{places[0]} uses {module}: it {problem}"
            yield Finding(RULE, message, cure, severity, line)
    for name, (problem, cure) in _CALLS.items():
        places = [place for place in deciding.get(name, []) if place not in at_import]
        if places:
            yield Finding(RULE, f"{places[0]} {problem}", cure, Severity.DOUBT)


def _forbidden(module: str) -> str:
    """The forbidden module that this is or belongs to, or an empty string."""
    if module in _HARMLESS or any(module.startswith(f"{ok}.") for ok in _HARMLESS):
        return ""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        whole = ".".join(parts[:length])
        if whole in FORBIDDEN:
            return whole
    return ""


def _imports(tree: ast.Module) -> dict[str, _Import]:
    """Forbidden modules by the name under which the file knows them."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    if _forbidden(alias.name):
                        found[bound] = _Import(alias.name, node.lineno)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    whole = f"{module}.{alias.name}"
                    if _forbidden(whole):
                        found[alias.asname or alias.name] = _Import(whole, node.lineno)
            case _:
                pass
    return found


def _used(tree: ast.Module) -> dict[str, list[str]]:
    """Names that functions read, and which functions; coroutines are left out."""
    used: dict[str, list[str]] = {}

    def visit(node: ast.AST, function: str, *, is_coroutine: bool) -> None:
        if isinstance(node, ast.AsyncFunctionDef):
            function, is_coroutine = node.name, True
        elif isinstance(node, ast.FunctionDef):
            function, is_coroutine = node.name, False
        if isinstance(node, ast.Name) and function and not is_coroutine:
            used.setdefault(node.id, []).append(function)
        if _is_numpy_random(node) and not is_coroutine:
            used.setdefault("numpy.random", []).append(function or "the module")
        # Annotations name types and call nothing.
        skipped = {id(part) for part in _annotations(node)}
        for child in ast.iter_child_nodes(node):
            if id(child) not in skipped:
                visit(child, function, is_coroutine=is_coroutine)

    visit(tree, "", is_coroutine=False)
    return used


def _is_numpy_random(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="random", value=ast.Name(id="np" | "numpy")):
            return True
        case _:
            return False


def _annotations(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.returns] if node.returns else []
        case ast.arg() | ast.AnnAssign():
            return [node.annotation] if node.annotation else []
        case _:
            return []
