"""The words and numbers of a plugin's source: what a made-up cluster must contain for the plugin to have something to say.

A plugin that asks for ``node.labels["disk"] == "ssd"`` says nothing of nodes without such a label. Read by ``worlds``.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

_KEY: Final = re.compile(r"([a-z0-9][a-z0-9.-]*/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?")
#: What providers usually supply.
_USUAL_METRICS: Final = ("cpu", "memory")
#: Words that are names of Python's or of the contract's own, never labels.
_NO_LABELS: Final = frozenset({"__main__", "utf-8"})


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a plugin talks about."""

    #: Fit to be label keys and values.
    words: tuple[str, ...]
    #: Fit to be resources of their own: ``nvidia.com/gpu``.
    resources: tuple[str, ...]
    metrics: tuple[str, ...]
    numbers: tuple[float, ...]


def vocabulary(tree: ast.Module) -> Vocabulary:
    """The vocabulary of a source file."""
    words: dict[str, None] = {}
    metrics: dict[str, None] = dict.fromkeys(_USUAL_METRICS)
    numbers: dict[float, None] = {}
    docs = {id(doc) for doc in _docstrings(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docs and _is_word(text):
                words[text] = None
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                numbers[float(number)] = None
            case ast.Attribute(attr=metric, value=ast.Attribute(attr="usage")):
                metrics[metric] = None
            case ast.Call(
                func=ast.Attribute(attr="data" | "measured"),
                args=[ast.Constant(value=str(metric))],
            ):
                metrics[metric] = None
            case _:
                pass
    resources = tuple(word for word in words if "/" in word)
    return Vocabulary(tuple(words), resources, tuple(metrics), tuple(numbers))


def _is_word(text: str) -> bool:
    return text not in _NO_LABELS and _KEY.fullmatch(text) is not None


def _docstrings(tree: ast.Module) -> list[ast.Constant]:
    """Texts that stand alone: they say something to the reader and nothing to Python."""
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
