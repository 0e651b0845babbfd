"""What ``bayplan demo`` shows: progress while pods are placed, then what went where and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bayplan.embedded.objects import Object, at, text_at

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

_CAPTION: Final = "bayplan.io/demo"
_WHY: Final = "bayplan.io/why"
_ZONE: Final = "topology.kubernetes.io/zone"
#: Plugins named in the table.
_NAMED: Final = 3
_PLAIN_WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class Tally:
    """How far the scheduler has come."""

    pods: int
    bound: int
    #: Looked at, and nothing fits.
    refused: int
    gated: int

    @property
    def undecided(self) -> int:
        """Pods that have not been looked at yet, or wait for room to be made."""
        return self.pods - self.bound - self.refused - self.gated


class Screen:
    """Standard output: coloured and moving on a terminal, plain elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        console = Console(highlight=False, file=stream)
        # What is not looked at as it comes may be as wide as it needs.
        self._console = (
            console
            if console.is_terminal
            else Console(highlight=False, file=stream, width=_PLAIN_WIDTH)
        )

    def say_cluster(self, nodes: Sequence[Object]) -> None:
        """What there is to begin with."""
        zones = Counter(text_at(node, "metadata", "labels", _ZONE) for node in nodes)
        listed = ", ".join(f"{count} in {zone}" for zone, count in sorted(zones.items()))
        self._console.print(f"A cluster of {len(nodes)} simulated nodes: {listed}.")

    @contextmanager
    def progress(self, title: str, expected: int) -> Iterator[Callable[[Tally], None]]:
        """A bar that follows the tallies."""
        columns = (
            TextColumn("{task.description:<26}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:>3} of {task.total} bound{task.fields[rest]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(title, total=expected, rest="")

            def update(tally: Tally) -> None:
                parts = [
                    f"{count} {what}"
                    for count, what in (
                        (tally.undecided, "on the way"),
                        (tally.refused, "without a place"),
                        (tally.gated, "gated"),
                    )
                    if count
                ]
                rest = f" ({', '.join(parts)})" if parts else ""
                progress.update(
                    task, completed=tally.bound, total=max(expected, tally.pods), rest=rest
                )

            yield update

    def show_workloads(self, objects: Sequence[Object], store: Store) -> None:
        """What went where and why, a line per workload."""
        zones = {
            text_at(node, "metadata", "name"): text_at(node, "metadata", "labels", _ZONE)
            for node in store.list("nodes")
        }
        table = Table("workload", "wants", "bound", "where", "why there", header_style="bold")
        for obj in objects:
            caption = text_at(obj, "metadata", "annotations", _CAPTION)
            if not caption:
                continue
            name = text_at(obj, "metadata", "name")
            pods = store.list("pods", "default", labels=f"app={name}")
            bound = [pod for pod in pods if text_at(pod, "spec", "nodeName")]
            table.add_row(
                name,
                caption,
                f"{len(bound)} of {len(pods)}",
                _where(bound, zones) or "nowhere",
                next(filter(None, map(_why, bound)), "") or _why_not(pods),
            )
        self._console.print()
        self._console.print(table)
        self._say_preempted(store)

    def _say_preempted(self, store: Store) -> None:
        for event in store.list("events", "default"):
            if event.get("reason") == "Preempted":
                pod = text_at(event, "involvedObject", "name")
                self._console.print(f"Preempted: {pod}: {text_at(event, 'message')}")

    def say_explained(self) -> None:
        """What follows is what ``bayplan explain`` prints."""
        self._console.print()
        self._console.rule("bayplan explain: the pod that fits nowhere", align="left")

    def say_served(self, kubeconfig: Path, config: Path) -> None:
        """How to go on by hand."""
        self._console.print()
        self._console.print("The cluster stays until Ctrl-C. Try:", style="bold")
        self._console.print(f"  kubectl --kubeconfig {kubeconfig} get pods -o wide", soft_wrap=True)
        self._console.print(f"  kubectl --kubeconfig {kubeconfig} get events", soft_wrap=True)
        self._console.print(f"The scheduler's configuration is {config}", soft_wrap=True)

    def say_trouble(self, path: Path) -> None:
        """Something took too long."""
        self._console.print("Not every pod was decided in time. The end of the scheduler's log:")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines[-20:]:
            self._console.print(line, soft_wrap=True, markup=False)


def _where(bound: Sequence[Object], zones: dict[str, str]) -> str:
    nodes = [text_at(pod, "spec", "nodeName") for pod in bound]
    if len(nodes) == 1:
        return f"{nodes[0]} ({zones.get(nodes[0], 'gone')})"
    counts = Counter(zones.get(node, "gone") for node in nodes)
    per_zone = ", ".join(f"{zone}: {count}" for zone, count in sorted(counts.items()))
    return f"{per_zone} on {len(set(nodes))} nodes" if nodes else ""


def _why(pod: Object) -> str:
    """The reasons that the binding wrote on the pod, in short."""
    raw = text_at(pod, "metadata", "annotations", _WHY)
    if not raw.startswith("{"):
        return ""
    why: dict[str, Any] = json.loads(raw)
    best = sorted(why["scores"].items(), key=lambda item: -item[1])[:_NAMED]
    listed = ", ".join(f"{name} {score}" for name, score in best)
    text = f"score {why['score']}: {listed}" if best else "the only node that fits"
    turned_down = sum(why["rejected"].values())
    if turned_down:
        reason = max(why["rejected"].items(), key=lambda item: item[1])[0]
        text += f"; {turned_down} nodes out, mostly: {reason}"
    return text


def _why_not(pods: Sequence[Object]) -> str:
    for pod in pods:
        if at(pod, "spec", "schedulingGates"):
            return "its scheduling gate is closed"
        for one in at(pod, "status", "conditions") or []:
            if one.get("reason") == "Unschedulable":
                return str(one.get("message", "")).partition(". ")[0]
    return ""
