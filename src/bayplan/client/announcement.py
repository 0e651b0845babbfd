"""Where a scheduler shows its pages, as it says on its own lease: an address, and by which certificate to know it.

Whoever holds the lease writes it (``app``), so whoever can read leases finds the scheduler that leads (``cli``). The
certificate may be one that nobody has signed: a client that sees its fingerprint knows that it talks to the holder of the lease,
and to nobody who merely has the address, before it shows any credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ADDRESS: Final = "bayplan.io/serving-address"
FINGERPRINT: Final = "bayplan.io/serving-certificate-sha256"
PROFILES: Final = "bayplan.io/profiles"
POD: Final = "bayplan.io/pod"


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a lease says of its holder."""

    #: ``https://10.0.0.7:10259``.
    address: str
    #: SHA-256 of the certificate, in hexadecimal digits.
    fingerprint: str
    #: The scheduler names that it serves.
    profiles: tuple[str, ...] = ()
    #: ``namespace/name`` of the pod that it runs in; empty: in none.
    pod: str = ""

    def annotations(self) -> dict[str, str]:
        """As they stand on the lease."""
        return {
            ADDRESS: self.address,
            FINGERPRINT: self.fingerprint,
            PROFILES: ",".join(self.profiles),
            POD: self.pod,
        }

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> Announcement | None:
        """What a lease's annotations say; None where they say nothing, or nothing that can be used."""
        address, fingerprint = annotations.get(ADDRESS, ""), annotations.get(FINGERPRINT, "")
        if not address.startswith("https://") or not _is_sha256(fingerprint):
            return None
        profiles = tuple(filter(None, annotations.get(PROFILES, "").split(",")))
        return cls(address, fingerprint, profiles, annotations.get(POD, ""))


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and all(char in "0123456789abcdef" for char in text)
