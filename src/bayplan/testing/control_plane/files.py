"""Writing the small files that other processes read: certificates, tokens, kubeconfigs.

A reader that watches such a file must find the old content or the new one, never a part.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Put ``content`` at ``path`` in one step, with these permissions from the first moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    fresh.replace(path)
