"""The solver for gangs, where the configuration asks for it. Called by ``assembly``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from bayplan.cycle.gang_solver import Limits
from bayplan.errors import ConfigError, Problem
from bayplan.runtime.solving import SolverProcess, Solving

if TYPE_CHECKING:
    from bayplan.framework.config import Configuration


def solving(config: Configuration, seed: int) -> Solving | None:
    """Somebody to ask, where the configuration wants it; the process starts with the first question.

    Raises:
        ConfigError: OR-tools is not installed.
    """
    if not config.own.gangs.solver:
        return None
    if find_spec("ortools") is None:
        why = "needs OR-tools, which is not installed: pip install 'bayplan[solver]'"
        raise ConfigError([Problem("gangs.solver", why)], config.source)
    return Solving(SolverProcess(), Limits(config.own.gangs.solver_effort, seed % (1 << 31)))
