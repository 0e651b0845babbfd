"""What all parts of the BayplanConfiguration have in common."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of the document that can judge itself."""

    def check(self) -> Iterator[tuple[str, str]]:
        """Yield ``(path inside the section, what is wrong)``; types and unknown fields are checked already."""
        yield from ()
