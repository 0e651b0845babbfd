"""One foreign extender: whom it wants to be asked about, and its verbs.

Made by ``assembly`` from an entry under ``extenders:``; called by ``runtime.extending.consulting`` and, for bindings, by
``runtime.extending.binding``. Order and arithmetic are upstream's (pkg/scheduler/extender.go); what upstream takes on trust is
checked here: names have to be among those that were sent, scores are held to the contract's 0 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from bayplan.cycle.advice import ExtenderScores
from bayplan.errors import ExtenderError
from bayplan.framework.events import EXTENDER
from bayplan.framework.pod_news import pod_of
from bayplan.framework.preemption import Nominated
from bayplan.framework.status import Code, Rejected
from bayplan.runtime.extending import wire
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.config.types import Extender
    from bayplan.runtime.extending.whole_nodes import WholeNodes
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)

MAX_SCORE: Final = 10
#: Reasons are shown to people, and kept with the pod.
_LONGEST_REASON: Final = 1024


class Caller(Protocol):
    """Sends a body and brings the answer (``client.webhook.Webhook``)."""

    async def call(self, verb: str, body: bytes) -> bytes:
        """Raises ``ExtenderError``."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


class ForeignExtender:
    """One entry under ``extenders:``."""

    def __init__(
        self,
        config: Extender,
        caller: Caller,
        cluster: Cluster,
        nodes: WholeNodes,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self.config = config
        self.name = config.url_prefix
        self.ignorable = config.ignorable
        #: Whether it has a verb for before a pod has a node.
        self.is_asked_first = bool(
            config.filter_verb or config.prioritize_verb or config.preempt_verb
        )
        self._caller = caller
        self._cluster = cluster
        self._nodes = nodes
        self._metrics = metrics
        self._clock = clock
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    async def close(self) -> None:
        """Hang up."""
        await self._caller.close()

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether a container asks for a resource that this extender answers for."""
        if not self._managed:
            return True
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return any(
            not self._managed.isdisjoint(amounts)
            for container in containers
            for amounts in (container.resources.requests, container.resources.limits)
        )

    # --- nodes ---------------------------------------------------------------------------------------------------------

    async def filter(
        self, pod: msgspec.Raw, nodes: Sequence[str]
    ) -> tuple[list[str], dict[str, Rejected]]:
        """The nodes that it leaves, and why others are not among them. Raises ``ExtenderError``."""
        verb = self.config.filter_verb
        text = await self._call(verb, self._arguments(pod, nodes))
        answer = wire.read_filter(text, names=self.config.node_cache_capable)
        sent = frozenset(nodes)
        for name in answer.left or ():
            if name not in sent:
                raise ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" '
                    "which is not found in the input node list"
                )
        failed = {
            node: Rejected(text[:_LONGEST_REASON], code=code, plugin=EXTENDER)
            for said, code in (
                (answer.failed, Code.UNSCHEDULABLE),
                (answer.unresolvable, Code.UNRESOLVABLE),
            )
            for node, text in said.items()
            if node in sent
        }
        left = frozenset(answer.left or ())
        return [node for node in nodes if node in left], failed

    async def prioritize(self, pod: msgspec.Raw, nodes: Sequence[str]) -> ExtenderScores:
        """What it gives the nodes. Raises ``ExtenderError``."""
        text = await self._call(self.config.prioritize_verb, self._arguments(pod, nodes))
        sent, scores, odd = frozenset(nodes), dict[str, int](), 0
        for host, score in wire.read_scores(text):
            if host not in sent:
                odd += 1
                continue
            held = min(max(score, 0), MAX_SCORE)
            odd += held != score
            scores[host] = min(scores.get(host, 0) + held, MAX_SCORE)
        if odd:
            _log.warning(
                "Extender scores nodes that it was not asked about, or not from 0 to 10",
                extender=self.name,
                entries=odd,
            )
        return ExtenderScores(self.name, self.config.weight, scores)

    def _arguments(self, pod: msgspec.Raw, nodes: Sequence[str]) -> wire.Arguments:
        if self.config.node_cache_capable:
            return wire.Arguments(pod, node_names=list(nodes))
        whole = [text for node in nodes if (text := self._nodes.get(node)) is not None]
        return wire.Arguments(pod, nodes=wire.node_list(whole))

    # --- preemption ----------------------------------------------------------------------------------------------------

    async def preempt(
        self, pod: msgspec.Raw, proposals: Mapping[str, Nominated]
    ) -> dict[str, Nominated]:
        """What it leaves of the proposals. Raises ``ExtenderError``."""
        if self.config.node_cache_capable:
            arguments = wire.PreemptionArguments(
                pod,
                node_name_to_meta_victims={
                    node: wire.MetaVictims(
                        [wire.MetaPod(victim.uid) for victim in proposal.victims],
                        proposal.violations,
                    )
                    for node, proposal in proposals.items()
                },
            )
        else:
            arguments = wire.PreemptionArguments(
                pod,
                node_name_to_victims={
                    node: wire.Victims(
                        [_as_json(victim) for victim in proposal.victims], proposal.violations
                    )
                    for node, proposal in proposals.items()
                },
            )
        text = await self._call(self.config.preempt_verb, arguments)
        return {
            node: self._proposal(node, uids, violations, proposals)
            for node, (uids, violations) in wire.read_victims(text).items()
        }

    def _proposal(
        self, node: str, uids: Sequence[str], violations: int, proposals: Mapping[str, Nominated]
    ) -> Nominated:
        """Victims by their uids: any pod on the node, as upstream has it, not only those that were proposed."""
        row = self._cluster.view.row_of(node)
        if row is None:
            raise ExtenderError(f'extender "{self.name}" names node "{node}", which is not there')
        proposed = proposals.get(node)
        known = {victim.uid: victim for victim in proposed.victims} if proposed else {}
        pods = self._cluster.pods
        if any(uid not in known for uid in uids):
            for other in pods.on_node(row):
                known.setdefault(pods.uids[other], pods.info(other, node))
        for uid in uids:
            if uid not in known:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: {uid}) on node: {node}, "
                    "but the pod is not found on that node"
                )
        outbid = proposed.outbid if proposed else ()
        return Nominated(node, [known[uid] for uid in uids], violations, outbid)

    # --- binding -------------------------------------------------------------------------------------------------------

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Have it bind the pod. Raises ``ExtenderError``."""
        arguments = wire.BindingArguments(pod.name, pod.namespace, pod.uid, node)
        wire.read_binding(await self._call(self.config.bind_verb, arguments))

    async def _call(self, verb: str, arguments: Any) -> bytes:
        began = self._clock.monotonic()
        result = "error"
        try:
            answer = await self._caller.call(verb, msgspec.json.encode(arguments))
            result = "ok"
        finally:
            seconds = self._clock.monotonic() - began
            self._metrics.extender_call(self.name, verb, result, seconds)
        return answer


def _as_json(pod: PodInfo) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(pod_of(pod)))
