"""The debug pages by path. Who may see them the gatekeeper has asked already, path by path.

::

    /debug/decisions                    the last attempts                     ?limit=
    /debug/decisions/NAMESPACE/NAME     one pod's story                       ?node= ?nodes=
    /debug/queue                        every pod that waits or is on its way ?limit=
    /debug/arms                         profiles that are tried beside others
    /debug/summary                      counts, rates, nodes by load          ?nodes=

Put together by ``app``, asked by ``serve.server``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.serve.debug.attempts import attempts_page
from bayplan.serve.debug.pod import Ask, Wanted, pod_page
from bayplan.serve.debug.queue import queue_page
from bayplan.serve.debug.summary import summary
from bayplan.serve.refusal import RefusedError

if TYPE_CHECKING:
    from bayplan.framework.config import Configuration
    from bayplan.runtime.scheduler import Scheduler

_ROOT: Final = "/debug/decisions"
_ALL: Final = 1 << 31


class DebugPages:
    """Pages about one running scheduler."""

    def __init__(
        self,
        scheduler: Scheduler,
        config: Callable[[], Configuration],
        ask: Ask,
        is_leader: Callable[[], bool],
        arms: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._scheduler = scheduler
        self._config = config
        self._ask = ask
        self._is_leader = is_leader
        self._arms = arms

    async def page(self, path: str, query: Mapping[str, str]) -> Iterator[bytes] | None:
        """The JSON of a page, in pieces; None: there is no such page.

        Raises:
            RefusedError: a parameter makes no sense, or what is asked for is not there.
        """
        scheduler = self._scheduler
        if path == _ROOT:
            return attempts_page(scheduler, _number(query, "limit", 100))
        if path == "/debug/queue":
            return queue_page(scheduler, _number(query, "limit", 500))
        if path == "/debug/arms":
            return iter([msgspec.json.encode(self._arms()) + b"\n"])
        if path == "/debug/summary":
            nodes = _number(query, "nodes", 20)
            found = summary(scheduler, leading=self._is_leader(), nodes=nodes)
            return iter([msgspec.json.encode(found) + b"\n"])
        namespace, _, name = path.removeprefix(f"{_ROOT}/").partition("/")
        if not path.startswith(f"{_ROOT}/") or not namespace or not name or "/" in name:
            return None
        most = _number(query, "nodes", 20)
        wanted = Wanted(
            f"{namespace}/{name}", query.get("node", ""), None if most >= _ALL else most
        )
        return iter([await pod_page(scheduler, self._config(), wanted, self._ask)])


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if text == "all":
        return _ALL
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise RefusedError(400, f"{name}={text[:40]!r} is neither a number nor all")
    return int(text)
