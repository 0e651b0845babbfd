"""How much less a pod would have to ask for, and where.

Called by ``relax``. Looks at the nodes that would do if the pod asked for nothing, and on each of them at what is short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from bayplan.cycle.record import Decision, Picture
from bayplan.model.amounts import quantity_text, rounded_up
from bayplan.model.pod import Container, Pod, ResourceRequirements
from bayplan.model.quantity import ResourceList
from bayplan.sim.relaxation import Kind, Relaxation, in_words
from bayplan.sim.situation import Situation, open_rows

_replace = msgspec.structs.replace

PLUGIN: Final = "NodeResourcesFit"
_INSUFFICIENT: Final = "Insufficient "


def smaller_requests(situation: Situation, now: Decision, picture: Picture) -> Iterator[Relaxation]:
    """What to ask for less, on the node where that is least first."""
    asked = situation.info().requests
    names = [name for name, amount in asked.items() if amount > 0]
    if not names or not situation.pod.spec.containers:
        return
    asking_nothing = situation.decide(with_requests(situation.pod, dict.fromkeys(names, 0)))
    options: list[tuple[float, str, dict[str, int]]] = []
    for row in open_rows(asking_nothing).tolist():
        less = _shortfall(situation, picture, row, asked)
        if less:
            share = max(amount / asked[name] for name, amount in less.items())
            size = share + 0.2 * (len(less) - 1)
            options.append((size, now.evaluation.names[row], less))
    options.sort(key=lambda option: option[:2])
    smaller: list[dict[str, int]] = []
    for size, node, less in options:
        # Whoever reads of a smaller change does not need to hear that a larger one would do as well.
        if not any(_includes(less, other) for other in smaller):
            smaller.append(less)
            yield _relaxation(situation.pod, asked, node, less, size)


def _includes(less: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether one change goes as far as another, or further."""
    return all(less.get(name, 0) >= amount for name, amount in other.items())


def _shortfall(
    situation: Situation, picture: Picture, row: int, asked: Mapping[str, int]
) -> dict[str, int]:
    """How much of what a node lacks; nothing where it lacks anything else."""
    said = picture.verdict(row)
    if said is None or said.plugin != PLUGIN:
        return {}
    nodes = situation.cluster.view.nodes
    less: dict[str, int] = {}
    for reason in said.reasons:
        name = reason.removeprefix(_INSUFFICIENT)
        if name == reason or name not in asked:
            return {}
        left = max(int(nodes.allocatable(name)[row]) - int(nodes.requested(name)[row]), 0)
        less[name] = rounded_up(name, asked[name] - left, asked[name])
    return less


def _relaxation(
    pod: Pod, asked: Mapping[str, int], node: str, less: Mapping[str, int], size: float
) -> Relaxation:
    wanted = {name: asked[name] - amount for name, amount in less.items()}
    names = sorted(less, key=lambda name: (not wanted[name], name))
    parts = [
        f"{quantity_text(name, less[name])} less {name}" if wanted[name] else f"no {name}"
        for name in names
    ]
    return Relaxation(
        kind=Kind.REQUESTS,
        text=f"ask for {in_words(parts)}",
        change={
            "less": {name: quantity_text(name, amount) for name, amount in sorted(less.items())},
            "requests": {name: quantity_text(name, left) for name, left in sorted(wanted.items())},
        },
        size=size,
        plugin=PLUGIN,
        pod=with_requests(pod, wanted),
        node=node,
    )


def with_requests(pod: Pod, wanted: Mapping[str, int]) -> Pod:
    """A pod whose requests of these resources sum up to these amounts, whatever they were."""
    spec = pod.spec
    first, *others = (_without(container, wanted) for container in spec.containers)
    requests = {
        **first.resources.requests,
        **{name: quantity_text(name, amount) for name, amount in wanted.items() if amount},
    }
    first = _replace(first, resources=_replace(first.resources, requests=requests))
    return _replace(
        pod,
        spec=_replace(
            spec,
            containers=(first, *others),
            init_containers=tuple(_without(c, wanted) for c in spec.init_containers),
            resources=None if spec.resources is None else _stripped(spec.resources, wanted),
            overhead=_rest(spec.overhead, wanted),
        ),
    )


def _without(container: Container, names: Mapping[str, int]) -> Container:
    return _replace(container, resources=_stripped(container.resources, names))


def _stripped(resources: ResourceRequirements, names: Mapping[str, int]) -> ResourceRequirements:
    return _replace(resources, requests=_rest(resources.requests, names))


def _rest(resources: ResourceList, names: Mapping[str, int]) -> ResourceList:
    return {name: amount for name, amount in resources.items() if name not in names}
