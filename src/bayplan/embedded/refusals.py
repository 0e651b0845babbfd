"""What the API answers instead of an object, in Kubernetes' words.

Each function builds a ``RequestRefused`` with the code, reason, message and details that kube-apiserver sends; the HTTP
side turns it into a ``Status`` object. Raised by everything that can say no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.embedded.objects import Object, encode
from bayplan.errors import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that is wrong."""

    #: ``FieldValueInvalid`` and the like, as in ``StatusCause.reason``.
    kind: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> FieldProblem:
    """A field that has to be there."""
    return FieldProblem(
        "FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value"
    )


def invalid_value(field: str, value: object, detail: str) -> FieldProblem:
    """A field whose value is not possible."""
    return FieldProblem("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def forbidden_field(field: str, detail: str) -> FieldProblem:
    """A field that may not be set, or not be set now."""
    return FieldProblem("FieldValueForbidden", field, f"Forbidden: {detail}")


def unsupported_value(field: str, value: object, supported: Iterable[str]) -> FieldProblem:
    """A field with a value that is none of the known ones."""
    listed = ", ".join(f'"{one}"' for one in supported)
    return FieldProblem(
        "FieldValueNotSupported",
        field,
        f"Unsupported value: {shown(value)}: supported values: {listed}",
    )


def duplicate(field: str, value: object) -> FieldProblem:
    """A value that has to be unique and is not."""
    return FieldProblem("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def too_many(field: str, count: int, most: int) -> FieldProblem:
    """A list that is too long."""
    items = "item" if most == 1 else "items"
    said = f"Too many: {count}: must have at most {most} {items}"
    return FieldProblem("FieldValueTooMany", field, said)


def shown(value: object) -> str:
    """A value as it stands in a message."""
    match value:
        case str():
            return f'"{value}"'
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case dict() | list():
            return encode(value).decode()
        case _:
            return str(value)


def qualified(resource: str, group: str) -> str:
    """``deployments.apps``; the core group has no suffix."""
    return f"{resource}.{group}" if group else resource


def _details(resource: str, group: str, name: str) -> Object:
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = resource
    return details


def not_found(resource: str, group: str, name: str) -> RequestRefused:
    """404: no such object."""
    message = f'{qualified(resource, group)} "{name}" not found'
    return RequestRefused(404, "NotFound", message, details=_details(resource, group, name))


def no_such_path() -> RequestRefused:
    """404: no such resource."""
    return RequestRefused(
        404, "NotFound", "the server could not find the requested resource", details={}
    )


def already_exists(resource: str, group: str, name: str) -> RequestRefused:
    """409: the name is taken."""
    message = f'{qualified(resource, group)} "{name}" already exists'
    return RequestRefused(409, "AlreadyExists", message, details=_details(resource, group, name))


def conflict(resource: str, group: str, name: str, why: str = MODIFIED) -> RequestRefused:
    """409: not in the state that the request supposes."""
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return RequestRefused(409, "Conflict", message, details=_details(resource, group, name))


def apply_conflict(message: str, causes: list[Object]) -> RequestRefused:
    """409: another field manager owns what is applied."""
    return RequestRefused(409, "Conflict", message, details={"causes": causes})


def forbidden(resource: str, group: str, name: str, why: str) -> RequestRefused:
    """403."""
    named = f' "{name}"' if name else ""
    message = f"{qualified(resource, group)}{named} is forbidden: {why}"
    return RequestRefused(403, "Forbidden", message, details=_details(resource, group, name))


def terminating(resource: str, group: str, name: str, namespace: str) -> RequestRefused:
    """403: the namespace is on its way out."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    refusal = forbidden(resource, group, name, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    refusal.details = (refusal.details or {}) | {"causes": [cause]}
    return refusal


def invalid(kind: str, group: str, name: str, problems: list[FieldProblem]) -> RequestRefused:
    """422: the object breaks a rule."""
    listed = [str(problem) for problem in dict.fromkeys(problems)]
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    details = _details(kind, group, name)
    details["causes"] = [
        {"reason": one.kind, "message": one.message, "field": one.field} for one in problems
    ]
    message = f'{qualified(kind, group)} "{name}" is invalid: {text}'
    return RequestRefused(422, "Invalid", message, details=details)


def bad_request(message: str) -> RequestRefused:
    """400."""
    return RequestRefused(400, "BadRequest", message)


def unauthorized() -> RequestRefused:
    """401."""
    return RequestRefused(401, "Unauthorized", "Unauthorized")


def method_not_allowed(resource: str, group: str) -> RequestRefused:
    """405."""
    message = "the server does not allow this method on the requested resource"
    return RequestRefused(405, "MethodNotAllowed", message, details=_details(resource, group, ""))


def not_acceptable(offered: Iterable[str]) -> RequestRefused:
    """406: the client takes none of the formats that there are."""
    message = f"only the following media types are accepted: {', '.join(offered)}"
    return RequestRefused(406, "NotAcceptable", message)


def unsupported_media_type(given: str, accepted: Iterable[str]) -> RequestRefused:
    """415: the body is in a format that is not read here."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
        + (f" (not {given})" if given else "")
    )
    return RequestRefused(415, "UnsupportedMediaType", message)


def expired(message: str, continue_token: str = "") -> RequestRefused:
    """410: the past that the request asks about is forgotten."""
    refusal = RequestRefused(410, "Expired", message)
    refusal.continue_token = continue_token
    return refusal


def too_old(asked: int, oldest: int) -> RequestRefused:
    """410 for a watch."""
    return expired(f"too old resource version: {asked} ({oldest})")


def too_large_version(asked: int, current: int) -> RequestRefused:
    """504: the version that the request wants to see has not been reached."""
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return RequestRefused(
        504, "Timeout", message, details={"causes": causes, "retryAfterSeconds": 1}
    )


def too_many_requests(
    message: str, retry_after_s: int, causes: list[Object] | None = None
) -> RequestRefused:
    """429."""
    details: Object = {"causes": causes} if causes else {}
    details["retryAfterSeconds"] = retry_after_s
    return RequestRefused(429, "TooManyRequests", message, details=details)


def plain_error(message: str) -> RequestRefused:
    """500 as kube-apiserver answers where it has not thought of a better one: no reason, no details."""
    return RequestRefused(500, "", message)


def internal_error(message: str) -> RequestRefused:
    """500."""
    return RequestRefused(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )


def status_of(refusal: RequestRefused) -> Object:
    """The ``Status`` object that says it."""
    meta: Object = {"continue": refusal.continue_token} if refusal.continue_token else {}
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": meta}
    status |= {"status": "Failure", "message": refusal.message}
    if refusal.reason:
        status["reason"] = refusal.reason
    if refusal.details is not None:
        status["details"] = refusal.details
    return status | {"code": refusal.code}
