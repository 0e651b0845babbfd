"""How long single calls of plugins take: for one attempt in so many, since asking a clock costs as much as a small plugin.

``Stopwatch.current`` is set around an attempt by whoever samples (``runtime.points``); ``runner.call`` and the per-node forms look
there. A column form judges all nodes in one call, so a call here may be five thousand of kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, ParamSpec, TypeVar

from bayplan.framework.status import Code, Rejected, Skip

if TYPE_CHECKING:
    from bayplan.framework.plugin import Plugin

P = ParamSpec("P")
T = TypeVar("T")

#: The points that kube-scheduler has such figures of; what else is called (Sign, Stamp) is bayplan's own.
_POINTS: Final = frozenset(
    ("PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "Permit")
)

#: Plugin, point, status label, seconds.
Told = Callable[[str, str, str, float], None]


class Stopwatch:
    """Times calls, and tells of each."""

    __slots__ = ("_timer", "_told")

    #: The one that runs; None: nobody wants to know.
    current: ClassVar[Stopwatch | None] = None

    def __init__(self, timer: Callable[[], float], told: Told) -> None:
        self._timer = timer
        self._told = told

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time every call while the block runs."""
        Stopwatch.current = self
        try:
            yield
        finally:
            Stopwatch.current = None

    def time(
        self,
        plugin: Plugin,
        point: str,
        method: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a method; whatever it raises passes through."""
        label = Code.ERROR.label
        began = self._timer()
        try:
            answer = method(*args, **kwargs)
            label = _label(answer)
            return answer
        finally:
            if point in _POINTS:
                self._told(plugin.name, point, label, self._timer() - began)


def _label(answer: Any) -> str:
    if isinstance(answer, Rejected):
        return answer.code.label
    return Code.SKIP.label if isinstance(answer, Skip) else Code.SUCCESS.label
