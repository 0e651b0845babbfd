"""Calling plugins: the one place where an exception becomes a named error and an answer is checked.

Used by the cycle for every extension point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayplan.errors import BayplanError, DataMissing, PluginError
from bayplan.framework.plugin import MAX_SCORE, MIN_SCORE, FilterPlugin, Plugin
from bayplan.framework.status import Mask, Rejected, Verdicts
from bayplan.framework.stopwatch import Stopwatch

P = ParamSpec("P")
T = TypeVar("T")

#: No score reaches this, be it before or after scaling.
_TOO_LARGE: Final = 2.0**63

#: Verdict numbers per node: 0 passes, k is the k-th outcome of the plugin.
Index = NDArray[np.int16]


def call(
    plugin: Plugin, point: str, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call one method of one plugin; whatever it raises becomes an error that names it."""
    watch = Stopwatch.current
    try:
        if watch is not None:
            return watch.time(plugin, point, method, *args, **kwargs)
        return method(*args, **kwargs)
    except PluginError:
        raise
    except BayplanError as error:
        raise PluginError(plugin.name, point, str(error)) from error
    except Exception as error:  # a plugin may raise anything; its pod fails and nothing else
        raise PluginError(plugin.name, point, f"{type(error).__name__}: {error}") from error


def without_data(plugin: FilterPlugin, missing: DataMissing) -> Rejected | None:
    """What a per-node filter says of a node whose data it read and nobody has supplied."""
    return Rejected(missing.reason) if plugin.missing == "reject" else None


def index_of(plugin: Any, answer: Any, n: int, outcomes: list[Rejected]) -> Index | int:
    """A column filter's answer as verdict numbers; one number where all nodes get the same.

    ``outcomes`` grows by what the plugin says for the first time.
    """
    if answer is None:
        return 0
    if isinstance(answer, Rejected):
        return _number(answer, outcomes)
    if isinstance(answer, Verdicts):
        return _index_of_verdicts(plugin, answer, n, outcomes)
    if not isinstance(answer, np.ndarray) or answer.dtype != np.bool_ or answer.shape != (n,):
        raise _bad(plugin, "Filter", f"wants a mask of {n} bools, got {_what(answer)}")
    if answer.all():
        return 0
    rejection = plugin.rejection or Rejected(plugin.reason or f"node(s) rejected by {plugin.name}")
    number = _number(rejection, outcomes)
    return np.where(answer, np.int16(0), np.int16(number))


def _index_of_verdicts(
    plugin: Any, answer: Verdicts, n: int, outcomes: list[Rejected]
) -> Index | int:
    index: Any = answer.index
    if not isinstance(index, np.ndarray) or index.dtype.kind not in "iu" or index.shape != (n,):
        raise _bad(plugin, "Filter", f"wants verdicts on {n} nodes, got {_what(index)}")
    # As unsigned numbers negative ones are large.
    highest = int(index.view(f"u{index.itemsize}").max()) if n else 0
    if highest > len(answer.outcomes):
        said = (
            f"verdicts are numbered 0 to {len(answer.outcomes)}, got {index.min()} to {index.max()}"
        )
        raise _bad(plugin, "Filter", said)
    if not answer.outcomes:
        return 0
    numbers = [0, *(_number(outcome, outcomes) for outcome in answer.outcomes)]
    if numbers == list(range(len(numbers))):
        return index.astype(np.int16)
    return np.asarray(numbers, np.int16)[index]


def _what(answer: Any) -> str:
    return f"{answer.dtype} {answer.shape}" if isinstance(answer, np.ndarray) else repr(answer)


def _number(outcome: Rejected, outcomes: list[Rejected]) -> int:
    for i, known in enumerate(outcomes):
        if known is outcome or known == outcome:
            return i + 1
    outcomes.append(outcome)
    return len(outcomes)


def raw_scores(plugin: Plugin, answer: Any, n: int) -> NDArray[np.int64] | int:
    """A column score's answer as whole numbers; one number where all nodes get the same."""
    if isinstance(answer, (int, float, np.integer, np.floating)) and not isinstance(answer, bool):
        return whole(plugin, answer)
    if not isinstance(answer, np.ndarray) or answer.shape != (n,):
        raise _bad(plugin, "Score", f"wants {n} scores, got {_what(answer)}")
    if answer.dtype == np.int64:
        return answer
    if answer.dtype.kind == "f":
        if not (np.abs(answer) < _TOO_LARGE).all():  # NaN is not smaller either
            bad = answer[~(np.abs(answer) < _TOO_LARGE)][0]
            raise _bad(plugin, "Score", f"a score is {bad}, not a finite number of at most 64 bits")
        return np.trunc(answer).astype(np.int64)
    if answer.dtype.kind in "iu":
        if n and int(answer.max()) >= _TOO_LARGE:
            raise _bad(
                plugin, "Score", f"a score is {answer.max()}, not a number of at most 64 bits"
            )
        return answer.astype(np.int64)
    raise _bad(plugin, "Score", f"scores are {answer.dtype}, not numbers")


def whole(plugin: Plugin, score: Any) -> int:
    """One node's score as a whole number, fractions cut off."""
    if not isinstance(score, (int, float, np.integer, np.floating)) or not (
        -_TOO_LARGE < score < _TOO_LARGE
    ):
        raise _bad(plugin, "Score", f"{score!r} is not a finite number of at most 64 bits")
    return int(score)


def normalized_scores(plugin: Plugin, answer: Any, raw: NDArray[np.int64]) -> NDArray[np.int64]:
    """What ``normalize`` made of raw scores, one for each; None leaves them as they are."""
    if answer is None:
        return raw
    if isinstance(answer, np.ndarray) and answer.dtype == np.int64 and answer.shape == raw.shape:
        return answer
    scores = raw_scores(plugin, answer, len(raw))
    return np.full(len(raw), scores, np.int64) if isinstance(scores, int) else scores


def check_range(
    plugin: Plugin, scores: NDArray[np.int64] | int, feasible: Mask | None = None
) -> None:
    """Scores of feasible nodes lie between 0 and 100 once normalised."""
    if isinstance(scores, int):
        low = high = scores
    elif not len(scores):
        return
    else:
        low, high = int(scores.min()), int(scores.max())
        if (low < MIN_SCORE or high > MAX_SCORE) and feasible is not None:
            # Only now, since it is slow: the scores of nodes that are in play.
            check_range(plugin, scores[feasible])
            return
    if low < MIN_SCORE or high > MAX_SCORE:
        worst = low if low < MIN_SCORE else high
        raise _bad(
            plugin,
            "Score",
            f"plugin {plugin.name!r} returns an invalid score {worst}, "
            f"it should in the range of [{MIN_SCORE}, {MAX_SCORE}] after normalizing",
        )


def _bad(plugin: Plugin, point: str, message: str) -> PluginError:
    return PluginError(plugin.name, point, message)
