"""What a process has cost: CPU seconds and memory, as Linux counts them. Read by ``trial`` before and after a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one process, up to now."""

    cpu_s: float = 0.0
    #: The most memory it ever had.
    rss_mb: float = 0.0

    def since(self, before: Cost) -> Cost:
        """What has come to it since."""
        return Cost(self.cpu_s - before.cpu_s, self.rss_mb)


def cost_of(pid: int) -> Cost:
    """User and system time of all threads, and the peak of its memory; nothing once it has ended."""
    folder = Path("/proc") / str(pid)
    try:
        # The name, in parentheses, may hold anything; the numbers come after it.
        fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        status = (folder / "status").read_text()
    except OSError:
        return Cost()
    ticks = int(fields[11]) + int(fields[12])
    peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), "0")
    return Cost(ticks / os.sysconf("SC_CLK_TCK"), int(peak) / 1024)
