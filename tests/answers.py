"""What a column plugin answered, node by node, in the form that scalar references give."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayplan.framework.plugin import FilterPlugin
from bayplan.framework.runner import index_of
from bayplan.framework.status import Rejected


def said(plugin: FilterPlugin, answer: Any, n: int) -> list[str]:
    """The filter's words for each node; empty where the node passes."""
    outcomes: list[Rejected] = []
    index = index_of(plugin, answer, n, outcomes)
    numbers = [index] * n if isinstance(index, int) else index.tolist()
    return [outcomes[number - 1].message if number else "" for number in numbers]


def scored(answer: Any, n: int) -> list[int]:
    """The score of each node."""
    return [answer] * n if isinstance(answer, int) else np.asarray(answer).tolist()
