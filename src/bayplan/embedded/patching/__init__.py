"""PATCH: four ways to say how an object is to change.

Fed by the API's PATCH handler. ``patch`` gives the object as the client wants it; names, versions, defaults and
validation are the caller's business afterwards, and so is ``ownership.track`` for every write but an apply, which brings
its managed fields along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, copy_of
from bayplan.embedded.patching import json_patch, merge_patch, server_side_apply, strategic
from bayplan.embedded.schema.checking import tidy
from bayplan.embedded.schema.shapes import of_kind

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"


def content_types(kind: Kind) -> tuple[str, ...]:
    """What a kind can be patched with: custom resources have no strategy."""
    strategic_too = (STRATEGIC,) if kind.schema_type else ()
    return (JSON_PATCH, MERGE_PATCH, *strategic_too, APPLY)


def patch(  # noqa: PLR0913 - the facts of one request
    kind: Kind,
    content_type: str,
    current: Object | None,
    raw: bytes,
    *,
    manager: str = "",
    force: bool = False,
    subresource: str = "",
    time: str = "",
) -> Object:
    """The object after a patch; ``current`` stays as it is.

    Only an apply may come without ``current``: it then creates. ``time`` is a timestamp for the managed fields.

    Raises:
        RequestRefused: 400, 409, 415 or 422, in Kubernetes' words.
    """
    media = content_type.partition(";")[0].strip().lower()
    accepted = content_types(kind)
    if media not in accepted:
        raise refusals.unsupported_media_type(media, accepted)
    if media == APPLY:
        if not manager:
            raise _options_invalid(refusals.required("fieldManager", "is required for apply patch"))
        return server_side_apply.apply(
            kind,
            current,
            _document(raw),
            manager=manager,
            force=force,
            subresource=subresource,
            time=time,
        )
    if force:
        raise _options_invalid(
            refusals.forbidden_field("force", "may not be specified for non-apply patch")
        )
    if current is None:
        raise refusals.bad_request("there is nothing to patch")
    wanted = _json(raw)
    if media == JSON_PATCH:
        changed: Any = json_patch.apply(copy_of(current), wanted)
    elif not isinstance(wanted, dict):
        raise refusals.bad_request("error decoding patch: a merge patch is an object")
    elif media == MERGE_PATCH:
        changed = merge_patch.apply(copy_of(current), wanted)
    else:
        changed = strategic.apply(copy_of(current), wanted, of_kind(kind))
    if not isinstance(changed, dict):
        raise refusals.bad_request("the patch leaves no object")
    tidy(changed, of_kind(kind))
    return changed


def _options_invalid(problem: refusals.FieldProblem) -> Exception:
    return refusals.invalid("PatchOptions", "meta.k8s.io", "", [problem])


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise refusals.bad_request(f"error decoding patch: {error}") from error


class _PlainLoader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: a date is text."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _document(raw: bytes) -> Object:
    """An applied configuration: YAML, and so JSON as well, which nearly everybody sends."""
    try:
        found = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        try:
            found = yaml.load(raw, Loader=_PlainLoader)
        except yaml.YAMLError as error:
            raise refusals.bad_request(f"error decoding YAML: {error}") from error
    if not isinstance(found, dict):
        raise refusals.bad_request("error decoding YAML: an applied configuration is an object")
    return found
