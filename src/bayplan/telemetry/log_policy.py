"""Which parts of the log are shown in how much detail: rules by resource and verb, as the audit policy of Kubernetes has them.

::

    apiVersion: v1
    kind: Policy
    rules:
    - level: Info                   # None, Error, Warning, Info, Debug, Trace, or a number as for -v
      resources: ["pods"]           # pods, nodes, leases, events; * or nothing: all
      verbs: ["schedule", "bind"]   # schedule, bind, preempt, watch, lead, create; * or nothing: all

The first rule that matches decides; what none matches goes by ``-v``. Read by ``app.logging_file`` from the file, or from the
ConfigMap around it; ``levels`` is handed to ``log``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Final

from bayplan.errors import ConfigError, Problem

#: Below 0 not even what is shown at -v=0.
LEVELS: Final = {"none": -3, "error": -2, "warning": -1, "info": 2, "debug": 5, "trace": 10}

#: What a module's messages are about: the longest prefix of its name counts.
SUBJECTS: Final[Mapping[str, tuple[str, str]]] = {
    "bayplan.client.leases": ("leases", "lead"),
    "bayplan.cycle": ("pods", "schedule"),
    "bayplan.queueing": ("pods", "schedule"),
    "bayplan.runtime.bind_requests": ("pods", "bind"),
    "bayplan.runtime.binding": ("pods", "bind"),
    "bayplan.runtime.come_back": ("pods", "schedule"),
    "bayplan.runtime.eviction": ("pods", "preempt"),
    "bayplan.runtime.extending": ("pods", "schedule"),
    "bayplan.runtime.gangs": ("pods", "schedule"),
    "bayplan.runtime.ingest.nodes": ("nodes", "watch"),
    "bayplan.runtime.ingest.pods": ("pods", "watch"),
    "bayplan.runtime.loop": ("pods", "schedule"),
    "bayplan.runtime.reporting.events": ("events", "create"),
    "bayplan.runtime.volumes": ("pods", "bind"),
}
_RESOURCES: Final = frozenset(resource for resource, _ in SUBJECTS.values())
_VERBS: Final = frozenset(verb for _, verb in SUBJECTS.values())
_KEY: Final = "logging.yaml"


def levels(document: Any, source: str) -> dict[str, int]:
    """The level of each module that a rule is about, by the beginning of its name.

    Args:
        document: a Policy, or a ConfigMap's ``data`` has been read already (``inner_text``).
        source: for messages.

    Raises:
        ConfigError: with everything that is wrong.
    """
    problems: list[Problem] = []
    if not isinstance(document, Mapping) or document.get("kind") != "Policy":
        kind = document.get("kind") if isinstance(document, Mapping) else document
        raise ConfigError(
            [Problem("kind", f"{kind!r} is no logging policy: use kind: Policy")], source
        )
    rules = document.get("rules") or []
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise ConfigError([Problem("rules", "has to be a list")], source)
    found: dict[str, int] = {}
    for index, rule in enumerate(rules):
        problems += _apply(rule, f"rules[{index}]", found)
    if problems:
        raise ConfigError(problems, source)
    return found


def inner_text(document: Any) -> str | None:
    """The policy's text where the document is a ConfigMap that holds one; None where it is not."""
    if not isinstance(document, Mapping) or document.get("kind") != "ConfigMap":
        return None
    data = document.get("data")
    text = data.get(_KEY) if isinstance(data, Mapping) else None
    return text if isinstance(text, str) else None


def _apply(rule: Any, path: str, found: dict[str, int]) -> Iterator[Problem]:
    if not isinstance(rule, Mapping):
        yield Problem(path, "has to be a mapping with level, resources and verbs")
        return
    level = _level(rule.get("level"))
    if level is None:
        names = ", ".join(name.title() for name in LEVELS)
        yield Problem(f"{path}.level", f"{rule.get('level')!r} is none of {names}, and no number")
    resources = yield from _names(rule, "resources", _RESOURCES, path)
    verbs = yield from _names(rule, "verbs", _VERBS, path)
    for unknown in sorted(set(rule) - {"level", "resources", "verbs"}):
        yield Problem(f"{path}.{unknown}", "unknown field; a rule has level, resources and verbs")
    if level is None:
        return
    for module, (resource, verb) in SUBJECTS.items():
        if resource in resources and verb in verbs:
            found.setdefault(module, level)


def _level(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= 100 else None
    return LEVELS.get(value.lower()) if isinstance(value, str) else None


def _names(
    rule: Mapping[str, Any], field: str, known: frozenset[str], path: str
) -> Generator[Problem, None, frozenset[str]]:
    """The names in a field are what it returns."""
    given = rule.get(field)
    if not given:
        return known
    if not isinstance(given, Sequence) or isinstance(given, str):
        yield Problem(f"{path}.{field}", "has to be a list")
        return frozenset()
    for index, name in enumerate(given):
        if name != "*" and name not in known:
            these = ", ".join(sorted(known))
            yield Problem(f"{path}.{field}[{index}]", f"{name!r} is none of {these}")
    return known if "*" in given else known & frozenset(map(str, given))
