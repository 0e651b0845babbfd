"""Rules of the pod that it could do without, one at a time.

Called by ``relax``. Whether anything comes of it is for the cycle to say: nothing here knows what a plugin makes of a
rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from bayplan.errors import SelectorError
from bayplan.model.label_selectors import LabelSelector, compile_label_selector
from bayplan.model.node import Taint
from bayplan.model.pod import (
    Affinity,
    Container,
    ContainerPort,
    Pod,
    PodAffinityTerm,
    Toleration,
)
from bayplan.model.volumes import Volume
from bayplan.sim.relaxation import Kind, Relaxation, in_words
from bayplan.sim.situation import Situation

_replace = msgspec.structs.replace

#: Taints that keep a pod away, beside those that only ask it to stay away.
FIRM: Final = frozenset({"NoSchedule", "NoExecute"})
#: Taints that tell of a state of the node: nobody should tolerate them, the state should end.
_STATES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
#: Of more untolerated taints on one node nobody wants to hear.
_MOST_TAINTS: Final = 3


def easier_pods(situation: Situation) -> Iterator[Relaxation]:
    """The pod without one of its rules."""
    pod = situation.pod
    yield from _tolerations(situation)
    yield from _node_selector(pod)
    yield from _node_affinity(pod)
    yield from _spread(pod)
    yield from _pod_affinity(pod)
    yield from _host_ports(pod)
    yield from _volumes(pod)


def _with_spec(pod: Pod, **changes: Any) -> Pod:
    return _replace(pod, spec=_replace(pod.spec, **changes))


# Taints -----------------------------------------------------------------------------------------


def _tolerations(situation: Situation) -> Iterator[Relaxation]:
    pod, nodes = situation.pod, situation.cluster.view.nodes
    wanted: dict[tuple[Taint, ...], None] = {}
    for i in range(len(nodes)):
        if nodes.alive[i]:
            firm = {
                Taint(taint.key, taint.value, taint.effect)
                for taint in nodes.taints_of(i)
                if taint.effect in FIRM
                and not any(t.tolerates(taint) for t in pod.spec.tolerations)
            }
            if 0 < len(firm) <= _MOST_TAINTS:
                wanted[tuple(sorted(firm, key=str))] = None
    for taints in wanted:
        added = tuple(_toleration(taint) for taint in taints)
        words = in_words([str(taint) for taint in taints])
        if any(taint.key.startswith(_STATES) for taint in taints):
            text = f"rid the node of the taint{'s' * (len(taints) > 1)} {words}"
        else:
            text = f"tolerate {words}"
        yield Relaxation(
            kind=Kind.TOLERATION,
            text=text,
            change={"tolerations": msgspec.to_builtins(added)},
            size=0.3 * len(taints),
            plugin="TaintToleration",
            pod=_with_spec(pod, tolerations=(*pod.spec.tolerations, *added)),
        )


def _toleration(taint: Taint) -> Toleration:
    if taint.value:
        return Toleration(taint.key, "Equal", taint.value, taint.effect)
    return Toleration(taint.key, "Exists", "", taint.effect)


# Nodes ------------------------------------------------------------------------------------------


def _node_selector(pod: Pod) -> Iterator[Relaxation]:
    selector = pod.spec.node_selector
    for key, value in sorted(selector.items()):
        rest = {other: wanted for other, wanted in selector.items() if other != key}
        yield Relaxation(
            kind=Kind.NODE_SELECTOR,
            text=f"drop {key}={value} from the node selector",
            change={"nodeSelector": [key]},
            size=0.4,
            plugin="NodeAffinity",
            pod=_with_spec(pod, node_selector=rest),
        )
    if len(selector) > 1:
        yield Relaxation(
            kind=Kind.NODE_SELECTOR,
            text="drop the node selector",
            change={"nodeSelector": sorted(selector)},
            size=0.6,
            plugin="NodeAffinity",
            pod=_with_spec(pod, node_selector={}),
        )


def _node_affinity(pod: Pod) -> Iterator[Relaxation]:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity.required is None:
        return
    nodes = _replace(affinity.node_affinity, required=None)
    yield Relaxation(
        kind=Kind.NODE_AFFINITY,
        text="drop the required node affinity",
        change={"nodeAffinity": "required"},
        size=0.6,
        plugin="NodeAffinity",
        pod=_with_spec(pod, affinity=_replace(affinity, node_affinity=nodes)),
    )


# Other pods -------------------------------------------------------------------------------------


def _spread(pod: Pod) -> Iterator[Relaxation]:
    constraints = pod.spec.topology_spread_constraints
    for i, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable == "ScheduleAnyway":
            continue
        yield Relaxation(
            kind=Kind.SPREAD,
            text=f"drop the spread over {constraint.topology_key} (maxSkew {constraint.max_skew})",
            change={"topologySpreadConstraint": i, "topologyKey": constraint.topology_key},
            size=0.4,
            plugin="PodTopologySpread",
            pod=_with_spec(
                pod, topology_spread_constraints=(*constraints[:i], *constraints[i + 1 :])
            ),
        )


def _pod_affinity(pod: Pod) -> Iterator[Relaxation]:
    affinity = pod.spec.affinity
    if affinity is None:
        return
    for i, term in enumerate(affinity.pod_affinity.required):
        near = _replace(affinity.pod_affinity, required=_all_but(affinity.pod_affinity.required, i))
        yield Relaxation(
            kind=Kind.POD_AFFINITY,
            text=f"drop the affinity to {term_text(term)}",
            change={"podAffinityTerm": i, "topologyKey": term.topology_key},
            size=0.5,
            plugin="InterPodAffinity",
            pod=_with_spec(pod, affinity=_replace(affinity, pod_affinity=near)),
        )
    for i, term in enumerate(affinity.pod_anti_affinity.required):
        yield Relaxation(
            kind=Kind.POD_ANTI_AFFINITY,
            text=f"drop the anti-affinity to {term_text(term)}",
            change={"podAntiAffinityTerm": i, "topologyKey": term.topology_key},
            size=0.5,
            plugin="InterPodAffinity",
            pod=_with_spec(pod, affinity=without_anti_affinity(affinity, i)),
        )


def without_anti_affinity(affinity: Affinity, i: int) -> Affinity:
    """The same without the ``i``-th required term of anti-affinity."""
    far = affinity.pod_anti_affinity
    return _replace(affinity, pod_anti_affinity=_replace(far, required=_all_but(far.required, i)))


def _all_but(terms: tuple[PodAffinityTerm, ...], i: int) -> tuple[PodAffinityTerm, ...]:
    return (*terms[:i], *terms[i + 1 :])


def term_text(term: PodAffinityTerm) -> str:
    """``pods with app=web per kubernetes.io/hostname``."""
    return f"{_pods_text(term.label_selector)} per {term.topology_key}"


def _pods_text(selector: LabelSelector | None) -> str:
    if selector is None:
        return "no pods"
    try:
        text = str(compile_label_selector(selector))
    except SelectorError:
        return "pods by a selector that cannot be read"
    return f"pods with {text}" if text else "all pods"


# What a node can give once ----------------------------------------------------------------------


def _host_ports(pod: Pod) -> Iterator[Relaxation]:
    spec = pod.spec
    wanted = {
        (port.host_port, port.protocol or "TCP", port.host_ip): None
        for container in (*spec.containers, *spec.init_containers)
        for port in container.ports
        if port.host_port > 0
    }
    for number, protocol, ip in wanted:
        at = f"{ip}:" if ip else ""
        yield Relaxation(
            kind=Kind.HOST_PORT,
            text=f"do without host port {at}{number}/{protocol}",
            change={"hostPort": number, "protocol": protocol, "hostIP": ip},
            size=0.5,
            plugin="NodePorts",
            pod=_with_spec(
                pod,
                containers=tuple(_closed(c, number, protocol, ip) for c in spec.containers),
                init_containers=tuple(
                    _closed(c, number, protocol, ip) for c in spec.init_containers
                ),
            ),
        )


def _closed(container: Container, number: int, protocol: str, ip: str) -> Container:
    def is_it(port: ContainerPort) -> bool:
        return (port.host_port, port.protocol or "TCP", port.host_ip) == (number, protocol, ip)

    return _replace(container, ports=tuple(p for p in container.ports if not is_it(p)))


def _volumes(pod: Pod) -> Iterator[Relaxation]:
    volumes = pod.spec.volumes
    for i, volume in enumerate(volumes):
        if not volume.matters:
            continue
        change: dict[str, Any] = {"volume": volume.name}
        text = f"do without volume {volume.name}"
        claim = _claim_of(pod, volume)
        if claim:
            change["claim"] = claim
            text += f" (claim {claim})"
        yield Relaxation(
            kind=Kind.VOLUME,
            text=text,
            change=change,
            size=0.7,
            plugin="VolumeBinding",
            pod=_with_spec(pod, volumes=(*volumes[:i], *volumes[i + 1 :])),
        )


def _claim_of(pod: Pod, volume: Volume) -> str:
    if volume.persistent_volume_claim is not None:
        return f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
    return f"{pod.namespace}/{pod.name}-{volume.name}" if volume.ephemeral is not None else ""
