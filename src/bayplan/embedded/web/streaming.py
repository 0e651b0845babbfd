"""Opening a watch from a request: where it begins, what it shows first, when it ends.

``open_watch`` decides from the query; ``serving`` sends the lines. Where a client may begin is Kubernetes' rule: without a
version or with 0 it first sees what there is, with a version it sees what came after.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayplan.embedded import refusals
from bayplan.embedded.lists import version_of
from bayplan.embedded.watching import Watch

if TYPE_CHECKING:
    from bayplan.embedded.forms import Form
    from bayplan.embedded.selecting import Selection
    from bayplan.embedded.shelf import Shelf

#: How often a client that wants bookmarks gets one.
BOOKMARK_S: Final = 60.0
#: How long a watch lasts whose client does not say.
_TIMEOUT_S: Final = 1800.0


def open_watch(
    shelf: Shelf, current: int, selection: Selection, form: Form, query: Mapping[str, str]
) -> Watch:
    """A watch with everything in it that the client is to see at once.

    Raises:
        RequestRefused: 410, if it would begin in a past that is forgotten; 422, 400, 504.
    """
    initial = query.get("sendInitialEvents", "")
    _check(query, initial)
    version = version_of(query.get("resourceVersion", ""))
    if version is not None and version > current:
        raise refusals.too_large_version(version, current)
    shows_state = initial == "true" or (initial == "" and version in (None, 0))
    changes = []
    if not shows_state and version:
        changes = shelf.since(version)
    watch = Watch(shelf, selection, form)
    if shows_state:
        watch.show(list(shelf.select(selection)))
        if initial == "true" and wants_bookmarks(query):
            watch.bookmark(current, initial_end=True)
    else:
        watch.replay(changes)
    return watch


def wants_bookmarks(query: Mapping[str, str]) -> bool:
    """Whether the client can read bookmarks."""
    return query.get("allowWatchBookmarks") in ("true", "1")


def timeout_of(query: Mapping[str, str]) -> float:
    """For how many seconds a watch lasts."""
    given = query.get("timeoutSeconds", "")
    return float(given) if given.isdigit() and int(given) > 0 else _TIMEOUT_S


def _check(query: Mapping[str, str], initial: str) -> None:
    match = query.get("resourceVersionMatch", "")
    problems = []
    if initial and match != "NotOlderThan":
        said = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        problems.append(refusals.forbidden_field("resourceVersionMatch", said))
    if match and not initial:
        said = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        problems.append(refusals.forbidden_field("resourceVersionMatch", said))
    if problems:
        raise refusals.invalid("ListOptions", "meta.k8s.io", "", problems)
