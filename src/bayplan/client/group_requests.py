"""Writing the status of pod groups. Pure, as ``client.resources``; used by ``runtime.gangs.status``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from bayplan.client.request import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from bayplan.client.resources import POD_GROUPS, Resource
from bayplan.client.retry import IDEMPOTENT
from bayplan.model.meta import format_time


def patch_group_status(
    kind: Resource[Any], namespace: str, name: str, uid: str, status: Mapping[str, Any]
) -> Request:
    """Change what a pod group's status says; a Conflict if another group has the name by now."""
    body = {"metadata": {"uid": uid}, "status": status}
    # Conditions of a built-in kind are merged by type; custom resources know merge patches only.
    content_type = STRATEGIC_MERGE_PATCH if kind is POD_GROUPS else MERGE_PATCH
    path = kind.path(name, namespace, "status")
    return Request("PATCH", path, msgspec.json.encode(body), content_type, IDEMPOTENT)


def time_text(seconds: float) -> str:
    """Seconds since 1970 as Kubernetes writes a time."""
    return format_time(datetime.fromtimestamp(seconds, UTC))
