"""The class that preemption plugins inherit: who may be evicted is theirs to say, all else is done here.

``search`` tries nodes out, ``importance`` and ``protection`` say which pods may stay first, ``candidates`` picks among
the nodes that could do. Nothing is acted on: whoever runs the attempt deletes the victims and keeps the node promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.placed import PlacedPods
from bayplan.cluster.pods import DISRUPTED, TERMINATING
from bayplan.cluster.thinned import LowerPods
from bayplan.errors import BayplanError
from bayplan.framework.config.fields import invalid
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import PostFilterPlugin, PreEnqueuePlugin
from bayplan.framework.preemption import Nominated, NoRoom
from bayplan.framework.status import Code, Rejected, unresolvable
from bayplan.framework.victims.candidates import Candidates, cheapest_proposal
from bayplan.framework.victims.companions import companions_of
from bayplan.framework.victims.evictions import Evictions
from bayplan.framework.victims.messages import aggregate, none_available
from bayplan.framework.victims.search import Search

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.preemption import DryRun, Failures
    from bayplan.framework.state import CycleState
    from bayplan.framework.status import Mask
    from bayplan.framework.victims.importance import Positions

NEVER: Final = "not eligible due to preemptionPolicy=Never."
WAITS_FOR_VICTIMS: Final = "not eligible due to a terminating pod on the nominated node."
EVICTING: Final = "waiting for the preemption for this pod to be finished"
_PERCENTAGE: Final = "minCandidateNodesPercentage"
_ABSOLUTE: Final = "minCandidateNodesAbsolute"
_LEAVING: Final = TERMINATING | DISRUPTED
#: Said of every pod that waits, at every event: made once.
_EVICTING: Final = unresolvable(EVICTING)


class PreemptionPlugin(PreEnqueuePlugin, PostFilterPlugin):
    """Makes room for a pod by evicting others from one node: of lower priority, unless ``evictable`` says otherwise."""

    #: Share of the nodes in question that must turn out to be candidates before the search ends.
    min_candidate_nodes_percentage: int = 10
    #: And at least so many of them.
    min_candidate_nodes_absolute: int = 100

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        """kube-scheduler's complaints."""
        percentage, absolute = (
            args.min_candidate_nodes_percentage,
            args.min_candidate_nodes_absolute,
        )
        if not 0 <= percentage <= 100:
            yield _PERCENTAGE, invalid(percentage, "not in valid range [0, 100]")
        if absolute < 0:
            yield _ABSOLUTE, invalid(absolute, "not in valid range [0, inf)")
        if percentage == absolute == 0:
            yield _PERCENTAGE, invalid(0, f"cannot be zero at the same time as {_ABSOLUTE}")
            yield _ABSOLUTE, invalid(0, f"cannot be zero at the same time as {_PERCENTAGE}")

    def setup(self) -> None:
        #: Which pods' victims are being deleted; kept by whoever deletes them.
        self.evictions = Evictions()
        self.keeps_out = self.evictions.waiting

    # --- who may go ----------------------------------------------------------------------------------------------------

    def evictable(self, pod: PodInfo, others: PlacedPods, state: CycleState) -> Mask:
        """Which of the placed pods may be evicted for this one."""
        return others.priority < pod.priority

    # --- keeping out pods whose victims are being deleted --------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo) -> Rejected | None:
        return _EVICTING if self.evictions.running(pod.uid) else None

    def wakes_on(self) -> Sequence[WakeOn]:
        """A deletion may end the wait; when to try the pod again is for the plugins to say that turned it down."""
        return (WakeOn(Resource.POD, Action.DELETE, lambda _pod, _old, _new: Hint.SKIP),)

    # --- making room ---------------------------------------------------------------------------------------------------

    def postfilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Nominated | Rejected:
        answer = self._preempt(pod, view, state, failures)
        if isinstance(answer, Nominated):
            return answer
        return type(answer)(f"preemption: {answer.message}", code=answer.code)

    def _preempt(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Nominated | Rejected:
        ineligible = self._ineligible(pod, view, state, failures)
        if ineligible is not None:
            return ineligible
        found = self._candidates(pod, view, state, failures)
        if found.errors and not len(found):
            return Rejected(aggregate(found.errors), code=Code.ERROR)
        if not len(found):
            return NoRoom(none_available(view.node_count, found.objections))
        if self.handle.dry_run.extenders:
            return self._narrowed(pod, view, found)
        chosen = self._cheapest(pod, view, state, found)
        return chosen or NoRoom(none_available(view.node_count, found.objections))

    def _candidates(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Candidates:
        """The nodes where evictions make room, looked for from a random one of those in question."""
        rows = failures.rows_with(Code.UNSCHEDULABLE)
        found = Candidates(self.enough(len(rows)))
        if len(rows):
            rows = np.roll(rows, -self.handle.random_below(len(rows)))
            lower = self._lower_pods(pod, view, state)
            Search(pod, view, state, self.handle.dry_run, lower).run(rows, found)
        return found

    def all_candidates(
        self,
        pod: PodInfo,
        view: ClusterView,
        state: CycleState,
        rows: NDArray[np.intp],
        dry_run: DryRun,
    ) -> Candidates:
        """Each of these nodes where evictions make room for the pod: for whoever needs several of them."""
        found = Candidates(len(rows) + 1)  # never enough: all are tried
        Search(pod, view, state, dry_run, self._lower_pods(pod, view, state)).run(rows, found)
        return found

    def enough(self, nodes: int) -> int:
        """How many candidates end the search, one that violates no budget among them."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(max(share, self.min_candidate_nodes_absolute), nodes)

    def _cheapest(
        self, pod: PodInfo, view: ClusterView, state: CycleState, found: Candidates
    ) -> Nominated | None:
        """The cheapest candidate that breaks no gang; else the cheapest whose gangs may go as a whole; None: there is none."""
        cluster = view.cluster
        if not len(cluster.gangs):
            return self._nominated(pod, view, found, found.cheapest())
        fallback = None
        for number in found.by_price():
            proposal = self._nominated(pod, view, found, number)
            companions = companions_of(proposal.victims, cluster)
            if not companions:
                return proposal
            if fallback is None and self._may_all_go(pod, companions, view, state):
                fallback = replace(proposal, victims=[*proposal.victims, *companions])
        return fallback

    def _may_all_go(
        self, pod: PodInfo, others: Sequence[PodInfo], view: ClusterView, state: CycleState
    ) -> bool:
        rows = np.array([view.cluster.pods.row_of[other.key] for other in others], np.intp)
        return bool(self.evictable(pod, PlacedPods(view.cluster, rows), state).all())

    def _nominated(
        self, pod: PodInfo, view: ClusterView, found: Candidates, number: int
    ) -> Nominated:
        cluster, row = view.cluster, found.row(number)
        node = cluster.nodes.names[row]
        return Nominated(
            node,
            [cluster.pods.info(victim, node) for victim in found.victims(number).tolist()],
            found.violations(number),
            [other for other in cluster.nominations.on(node) if other.priority < pod.priority],
        )

    def _narrowed(self, pod: PodInfo, view: ClusterView, found: Candidates) -> Nominated | Rejected:
        """The cheapest of what the extenders leave of the candidates."""
        every = (self._nominated(pod, view, found, number) for number in range(len(found)))
        left: Mapping[str, Nominated] = {proposal.node: proposal for proposal in every}
        for extender in self.handle.dry_run.extenders:
            if not left:
                break
            if not extender.judges_preemption(pod):
                continue
            try:
                answer = dict(extender.preempt(pod, left))
            except BayplanError as error:
                if extender.ignorable:
                    continue
                return Rejected(str(error), code=Code.ERROR)
            for node in [node for node, proposal in answer.items() if not proposal.victims]:
                if not extender.ignorable:
                    text = f'expected at least one victim pod on node "{node}"'
                    return Rejected(text, code=Code.ERROR)
                del answer[node]
            left = answer
        if not left:
            return Rejected("no candidate node for preemption")
        return cheapest_proposal(list(left.values()))

    def _lower_pods(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Callable[[Positions], LowerPods]:
        """Who may go, on some nodes."""
        cluster = view.cluster
        if type(self).evictable is PreemptionPlugin.evictable:
            return lambda rows: LowerPods(cluster, rows, pod.priority)

        def chosen(pods: Positions) -> Mask:
            return self.evictable(pod, PlacedPods(cluster, pods), state)

        return lambda rows: LowerPods(cluster, rows, chosen=chosen)

    # --- who may not preempt -------------------------------------------------------------------------------------------

    def _ineligible(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Rejected | None:
        """Why the pod may not preempt at all."""
        if pod.spec.preemption_policy == "Never":
            return Rejected(NEVER)
        if self._waits_for_victims(pod, view, state, failures):
            return Rejected(WAITS_FOR_VICTIMS)
        if not view.node_count:
            return Rejected("no nodes available", code=Code.ERROR)
        return None

    def _waits_for_victims(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> bool:
        """Whether pods that this one has had evicted are still on their way out of the node promised to it."""
        if not pod.nominated_node:
            return False
        row = view.row_of(pod.nominated_node)
        if row is None:
            return False
        said = failures.rejected_by_prefilter or failures.verdict(row)
        if said is not None and said.code is Code.UNRESOLVABLE:
            return False
        flags = view.cluster.pods.flags.data
        there = view.cluster.pods.on_node(row)
        leaving = [other for other in there if flags[other] & _LEAVING == _LEAVING]
        if not leaving:
            return False
        others = PlacedPods(view.cluster, np.array(leaving, np.intp))
        return bool(self.evictable(pod, others, state).any())
