"""A port of a pod here on this machine, by ``kubectl port-forward``: for addresses that only the cluster's own network reaches.

kubectl knows every way of logging in, and the API server lets through only whom it would let through anyway. Used by ``cli``
where a scheduler's own address does not answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from bayplan.errors import Unreachable

_FORWARDING: Final = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+)")
_PATIENCE_S: Final = 15.0


@asynccontextmanager
async def forwarded(
    pod: str, port: int, flags: Sequence[str] = (), kubectl: str = "kubectl"
) -> AsyncIterator[int]:
    """The local port, for as long as the block runs.

    Args:
        pod: ``namespace/name``.
        port: of the pod.
        flags: which cluster: ``--kubeconfig``, ``--context``.
        kubectl: the program.

    Raises:
        Unreachable: kubectl is not there, or cannot do it.
    """
    namespace, _, name = pod.partition("/")
    words = [*flags, "-n", namespace, "port-forward", f"pod/{name}", f":{port}"]
    try:
        process = await asyncio.create_subprocess_exec(
            kubectl,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        said = f"{kubectl} cannot be started: {error.strerror}"
        raise Unreachable(said, sent=False) from error
    try:
        yield await _port(process, pod)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        # Read to the end: a full pipe would keep it from ending.
        await process.communicate()


async def _port(process: asyncio.subprocess.Process, pod: str) -> int:
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            async for line in process.stdout:
                found = _FORWARDING.search(line)
                if found is not None:
                    return int(found[1])
            said = (await process.stderr.read()).decode("utf-8", "replace").strip()
            raise Unreachable(f"kubectl port-forward to pod {pod}: {said}", sent=False)
    raise Unreachable(f"kubectl port-forward to pod {pod} says nothing", sent=False)
