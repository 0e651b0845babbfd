"""All objects of a kind, part by part.

Used by ``client.informer`` at its start and whenever a watch cannot be gone on with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

from bayplan.client.api import Sender
from bayplan.client.decoding import Decoder, Page
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.resources import Resource
from bayplan.client.retry import IDEMPOTENT
from bayplan.errors import Gone
from bayplan.model import KubeObject

T = TypeVar("T", bound=KubeObject)


async def pages(
    api: Sender,
    resource: Resource[T],
    decoder: Decoder[T],
    *,
    field_selector: str = "",
    size: int = 500,
) -> AsyncIterator[Page[T]]:
    """The parts of a list as of now, not as of some moment that a cache remembers.

    A part that is too old by the time it is asked for is gone on with as of then if the API server says how: the list is
    whole, but not all of one moment. A watch from its resourceVersion tells what changed meanwhile.

    Raises:
        Gone: a part is too old, and there is no way on; begin again.
        ApiError, Unreachable, CredentialsError: as ``Api.send``.
        DecodeError: an answer that is no list.
    """
    token = ""
    while True:
        path = resource.collection(
            fieldSelector=field_selector, limit=str(size), **{"continue": token}
        )
        request = Request("GET", path, retry=IDEMPOTENT)
        try:
            page = decoder.page(await api.send(request, Lane.READ))
        except Gone as error:
            if not token or error.continue_token in ("", token):
                raise
            token = error.continue_token
            continue
        yield page
        token = page.next_page
        if not token:
            return
