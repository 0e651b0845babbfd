"""Check ``hints``: what looks at an event copes with objects that come, change and go.

A hint that raises counts as yes, so nobody is stuck; but each such event wakes every pod that the plugin turned down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.framework.events import Action, Hint, Resource
from bayplan.kit.linting.findings import Finding, Severity
from bayplan.kit.linting.repeatable import instance
from bayplan.kit.linting.subject import Subject
from bayplan.kit.linting.worlds import World
from bayplan.queueing.hints import declared
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

if TYPE_CHECKING:
    from bayplan.framework.events import WakeOn

RULE: Final = "hints"

#: An object before and after, of the kinds whose events are most waited for.
_BEFORE_AND_AFTER: Final[
    dict[Resource, tuple[NodeBuilder, NodeBuilder] | tuple[PodBuilder, PodBuilder]]
] = {
    Resource.NODE: (make_node("n0"), make_node("n0").label("changed", "yes").taint("a")),
    **dict.fromkeys(
        (Resource.ASSIGNED_POD, Resource.POD),
        (make_pod("other").on("n0"), make_pod("other").on("n0").label("changed", "yes")),
    ),
}


def check(subject: Subject, world: World) -> Iterator[Finding]:
    """The first hint that raises, or says what is no hint."""
    plugin = instance(subject, world)
    for wake in declared(plugin):
        for old, new in _events(wake):
            problem = _ask(wake, world, old, new)
            if problem:
                yield Finding(
                    RULE,
                    f"the hint on {wake.resource.value} {problem}",
                    "old is None for what was added, new for what was deleted; "
                    "answer Hint.QUEUE or Hint.SKIP, and QUEUE when in doubt",
                    Severity.DOUBT,
                )
                return


def _events(wake: WakeOn) -> Iterator[tuple[Any, Any]]:
    """What may come to the hint."""
    if wake.hint is None or wake.resource not in _BEFORE_AND_AFTER:
        return
    before, after = (builder.build() for builder in _BEFORE_AND_AFTER[wake.resource])
    if Action.ADD & wake.actions:
        yield None, after
    if wake.actions & Action.UPDATE:
        yield before, after
    if wake.actions & Action.DELETE:
        yield before, None


def _ask(wake: WakeOn, world: World, old: Any, new: Any) -> str:
    """What is wrong with the answer; empty where nothing is."""
    ask: Any = wake.hint
    try:
        said = ask(world.pods[0], old, new)
    except Exception as error:  # noqa: BLE001 - a user's code may raise anything, and that is what is asked here
        event = "an added object" if old is None else "a deleted one" if new is None else "a change"
        return f"raises {type(error).__name__} for {event}: {error}"
    return "" if isinstance(said, Hint) else f"returns {said!r}"
