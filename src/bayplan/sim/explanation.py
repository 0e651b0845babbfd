"""Why a pod goes where it goes, or nowhere: what ``bayplan explain`` shows.

Made of a decision's picture and of what ``relax`` finds; rendered as a table by ``cli.explanation_table`` and as JSON by
``explanation_json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.attempt import evaluate
from bayplan.cycle.postfilter import make_room
from bayplan.cycle.record import Decision, NodeLine, Picture
from bayplan.errors import BayplanError
from bayplan.framework.preemption import Nominated
from bayplan.model.amounts import quantity_text
from bayplan.sim.gangs import gang_of
from bayplan.sim.relax import suggestions
from bayplan.sim.relaxation import Suggestion
from bayplan.sim.situation import Situation


class NoSuchNode(BayplanError):
    """A node to be looked at closely that is not there."""


@dataclass(frozen=True, slots=True)
class Room:
    """One resource of one node."""

    resource: str
    allocatable: str
    #: By the pods that are there.
    requested: str
    #: By this pod.
    asked: str
    enough: bool


@dataclass(frozen=True, slots=True)
class NodeDetail:
    """One node, looked at closely."""

    line: NodeLine
    room: list[Room]
    pods: tuple[int, int]
    #: Every filter plugin that turns the node down and what it says, the deciding one first.
    objections: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that would have to go."""

    key: str
    priority: int


@dataclass(frozen=True, slots=True)
class Eviction:
    """How preemption makes room."""

    node: str
    victims: Sequence[Victim]
    #: How many of them against a disruption budget.
    violations: int

    @classmethod
    def of(cls, nominated: Nominated | None) -> Eviction | None:
        """What PostFilter has come to."""
        if nominated is None:
            return None
        victims = [Victim(pod.key, pod.priority) for pod in nominated.victims]
        return cls(nominated.node, victims, nominated.violations)


@dataclass(slots=True)
class Explanation:
    """A decision, ready to be shown."""

    pod: str
    scheduler: str
    #: Nodes that fit, the best first, the chosen one before its equals; then the others by name.
    lines: list[NodeLine]
    #: Score plugins that had a say, with their weights, in the order of the profile.
    plugins: dict[str, int]
    #: Empty where the pod fits nowhere.
    chosen: str
    #: The nodes that share the highest total.
    best: list[str]
    #: The FailedScheduling text; empty where the pod fits.
    message: str = ""
    #: How often each thing was said, with the plugin that said it.
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    preemption: Eviction | None = None
    suggestions: list[Suggestion] = field(default_factory=list)
    #: Where the pod is already.
    placed_on: str = ""
    detail: NodeDetail | None = None
    #: The scheduling policy that holds for the pod, in words; empty where none does.
    policy: str = ""
    notes: list[str] = field(default_factory=list)
    #: What its gang comes to, where that keeps the pod waiting; empty otherwise.
    gang: str = ""
    #: Where only a part of the lines is at hand: how many nodes fit and how many do not, and what was said with all at hand.
    counted: tuple[int, int] | None = None
    said: str = ""
    said_of_place: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """How many nodes fit, and how many do not."""
        return self.counted or (len(self.fitting), len(self.turned_down))

    @property
    def fitting(self) -> list[NodeLine]:
        """The nodes that passed all filters."""
        return [line for line in self.lines if line.rejected is None]

    @property
    def turned_down(self) -> list[NodeLine]:
        """The nodes that did not."""
        return [line for line in self.lines if line.rejected is not None]

    def line(self, node: str) -> NodeLine | None:
        """What was said of one node."""
        return next((line for line in self.lines if line.node == node), None)

    def headline(self) -> str:
        """The answer in one sentence."""
        if self.said:
            return self.said
        if self.gang:
            alone = f"would fit on {self.chosen}, and waits" if self.chosen else "waits"
            return f"{self.pod} {alone} with its gang: {self.gang}"
        if not self.chosen:
            return f"{self.pod} fits nowhere: {self.message}"
        return f"{self.pod} goes to {self.chosen}: {self._why()}"

    def _why(self) -> str:
        fitting = self.fitting
        if len(fitting) == 1:
            return f"the only one of {len(self.lines)} nodes that fits"
        of = f"of {len(fitting)} nodes that fit"
        line = self.line(self.chosen)
        total = line.total if line is not None else 0
        if self.chosen not in self.best:
            return f"it was promised to the pod earlier ({of}, {self.best[0]} scores higher)"
        if len(self.best) > 1:
            return f"drawn from the {len(self.best)} best {of} (total {total})"
        return f"the best {of} (total {total})"

    def whereabouts(self) -> str:
        """How the node that the pod is on compares; empty for a pending pod."""
        if self.said_of_place or not self.placed_on:
            return self.said_of_place
        at = f"it runs on {self.placed_on}"
        line = self.line(self.placed_on)
        if line is None:
            return f"{at}, which is not among the nodes"
        if line.rejected is not None:
            return f"{at}, where it would not be placed now: {line.rejected.message}"
        if self.placed_on == self.chosen:
            return f"{at}, and would go there again"
        if self.placed_on in self.best:
            return f"{at}, which is as good as {self.chosen}"
        rank = 1 + sum(other.total > line.total for other in self.fitting)
        return f"{at}, now number {rank} of {len(self.fitting)} (total {line.total})"


def explain(situation: Situation, *, node: str = "") -> Explanation:
    """Decide, and say why; ``node`` is looked at closely.

    Raises:
        PluginError: a plugin failed.
        NoSuchNode: there is no such node.
    """
    pod, desk = situation.info(), situation.desk
    decision = evaluate(pod, desk)
    if decision.fits:
        decision.ranking()  # a promised node is taken without scores, and people want to see them
    picture = decision.picture()
    explanation = _told(situation, decision, picture)
    pending = situation.pending()
    gang = gang_of(pod, pending, desk) if pending is not None else None
    if gang is not None:
        explanation.notes.append(gang.message)
        explanation.gang = "" if gang.fits else gang.message
        if gang.victims:
            explanation.notes.append(f"the gang would evict {', '.join(gang.victims)}")
    if not explanation.chosen:
        nominated, said = make_room(decision, picture, desk)
        explanation.preemption = Eviction.of(nominated)
        explanation.message = picture.message(said)
    stuck = not explanation.chosen
    if node:
        line = explanation.line(node)
        if line is None:
            raise NoSuchNode(f"there is no node {node}")
        explanation.detail = _detail(situation, decision, line)
        stuck = line.rejected is not None
    if stuck:
        evict = explanation.preemption is None
        explanation.suggestions = suggestions(situation, decision, picture, node=node, evict=evict)
    return explanation


def recall(situation: Situation, decision: Decision) -> Explanation:
    """What was said at the time of a decision that is still kept."""
    picture = decision.picture()
    explanation = _told(situation, decision, picture)
    explanation.gang = decision.gang
    if not explanation.chosen:
        explanation.preemption = Eviction.of(decision.nominated)
        explanation.message = picture.message(decision.post_filter)
    return explanation


def _told(situation: Situation, decision: Decision, picture: Picture) -> Explanation:
    lines = picture.lines()
    fitting = sorted(
        (line for line in lines if line.rejected is None),
        key=lambda line: (-line.total, line.node != decision.node, line.node),
    )
    turned_down = [line for line in lines if line.rejected is not None]
    highest = fitting[0].total if fitting else 0
    scored = fitting[0].scores if fitting else {}
    return Explanation(
        pod=decision.pod.key,
        scheduler=situation.profile.name,
        lines=[*fitting, *turned_down],
        plugins={name: score.weight for name, score in scored.items()},
        chosen=decision.node,
        best=[line.node for line in fitting if line.total == highest],
        reasons=Counter(
            (line.rejected.plugin, line.rejected.message)
            for line in turned_down
            if line.rejected is not None
        ),
        placed_on=situation.placed_on,
        policy=policy_in_words(decision.pod),
        notes=[*_notes(situation, decision.pod), *_unmeasured(situation, fitting)],
    )


def policy_in_words(pod: PodInfo) -> str:
    """The scheduling policy that holds for a pod, and what it adds; empty where there is none."""
    applied = pod.policy
    if applied is None or applied.policy is None or applied.problem:
        return applied.problem if applied is not None else ""
    policy, parts = applied.policy, []
    if policy.weights:
        weights = ", ".join(f"{name} {weight}" for name, weight in policy.weights)
        parts.append(f"resource weights {weights}")
    if policy.node_affinity is not None:
        parts.append("node affinity in addition to the pod's own")
    if policy.tolerations:
        parts.append(f"{len(policy.tolerations)} more tolerations")
    if applied.priority is not None:
        parts.append(f"its turn in the queue by priority {applied.priority}")
    return f"{policy.name} ({policy.source}): {'; '.join(parts) or 'says nothing'}"


def _notes(situation: Situation, pod: PodInfo) -> list[str]:
    notes = []
    wanted = situation.pod.spec.scheduler_name
    if wanted and wanted != situation.profile.name:
        notes.append(
            f"the pod asks for the scheduler {wanted}; this is what {situation.profile.name} says"
        )
    for plugin in situation.profile.pre_enqueue:
        said = plugin.pre_enqueue(pod)
        if said is not None:
            notes.append(f"it is not tried at all as long as {plugin.name} says: {said.message}")
    if situation.config.algorithm:
        notes.append(
            f"{situation.config.algorithm} decides; this is what the profile's plugins say"
        )
    if situation.placed_on and any(v.matters for v in situation.pod.spec.volumes):
        notes.append("its claims are bound by now, which may leave it less choice than it had")
    return notes


def _unmeasured(situation: Situation, fitting: list[NodeLine]) -> Iterator[str]:
    """Which plugins had no data of some of the nodes that they scored, and what they did about it."""
    without = Counter(
        name for line in fitting for name, score in line.scores.items() if score.no_data
    )
    for plugin in situation.profile.plugins:
        count = without[plugin.name]
        if count:
            does = "it stays out of the scores" if plugin.missing == "skip" else "these get 50"
            yield (
                f"{plugin.name} has no data for {count} of {len(fitting)} nodes; "
                f"with missing: {plugin.missing} {does}"
            )


def _detail(situation: Situation, decision: Decision, line: NodeLine) -> NodeDetail:
    nodes, row = situation.cluster.view.nodes, line.row
    room = []
    for name, amount in sorted(decision.pod.requests.items()):
        offered, given = int(nodes.allocatable(name)[row]), int(nodes.requested(name)[row])
        enough = amount == 0 or amount <= offered - given
        texts = [quantity_text(name, value) for value in (offered, given, amount)]
        room.append(Room(name, texts[0], texts[1], texts[2], enough))
    pods = int(nodes.pod_count[row]), int(nodes.max_pods[row])
    return NodeDetail(line, room, pods, _objections(decision, line))


def _objections(decision: Decision, line: NodeLine) -> list[tuple[str, str]]:
    """Later plugins' verdicts are known too where they judge all nodes at once."""
    said = [] if line.rejected is None else [line.rejected]
    feasible = decision.evaluation.feasible
    for part in feasible.verdicts if feasible is not None else ():
        if part.index is not None and part.index[line.row]:
            outcome = part.outcome(int(part.index[line.row]))
            if outcome not in said:
                said.append(outcome)
    return [(one.plugin, one.message) for one in said]
