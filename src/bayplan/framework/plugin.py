"""The plugin contract: one small class per extension point; a plugin inherits those it serves.

Fed by the runner, which owns order, weights, skipping, timing, error mapping and the decision record: a plugin holds
logic alone. Filter and Score come in two forms, and a plugin picks either:

* **per node**, for people: ``filter_node(pod, node)`` and ``score_node(pod, node)``, called only for nodes still in
  play, remembered per class of alike pods and per node until a column changes that the method has read;
* **columns**, for speed: ``filter(pod, nodes, state)`` and ``score(pod, nodes, state)`` answer for all nodes at once.

Arguments are plain annotated attributes (``threshold: float = 0.8``), or a ``msgspec.Struct`` named in ``args_type``.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import msgspec

from bayplan.cluster.changes import Reads
from bayplan.framework.status import Mask, OnlyNodes, Rejected, Scores, Skip, Verdicts

if TYPE_CHECKING:
    from bayplan.cluster.nodeinfo import NodeInfo
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.events import Resource, WakeOn
    from bayplan.framework.handle import Handle
    from bayplan.framework.preemption import Failures, Nominated
    from bayplan.framework.state import CycleState

#: What a plugin does where outside data that it reads are missing or too old: ``reject`` has its filter turn the node
#: down and its score fail the attempt; ``neutral`` has the node pass and get 50; ``skip`` has the node pass, and the
#: plugin stays out of the scores as long as one of the nodes in play has no data.
Missing = Literal["skip", "neutral", "reject"]

#: The highest and lowest score a plugin may give a node, after normalisation.
MAX_SCORE: Final = 100
MIN_SCORE: Final = 0


class NoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a plugin that takes none."""


class Plugin:
    """What all plugins have: a name, arguments, a handle, and what they depend on."""

    #: As configurations write it; the class name unless set.
    name: ClassVar[str] = ""
    #: The typed arguments; built from the annotated attributes unless given.
    args_type: ClassVar[type[msgspec.Struct]] = NoArgs
    #: What verdicts and scores depend on beside the pod. None: unknown, so every attempt evaluates in full.
    reads: ClassVar[Reads | None] = None

    #: Kinds that the plugin reads and that are not watched for everybody: ELASTIC_QUOTA, PRIORITY_CLASS.
    watches: ClassVar[tuple[Resource, ...]] = ()

    #: What is done where outside data are missing; an argument of plugins that annotate it.
    missing = "reject"

    args: msgspec.Struct
    handle: Handle

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        if "args_type" not in cls.__dict__:
            built = _args_from_annotations(cls)
            if built is not None:
                cls.args_type = built

    def __init__(
        self, args: msgspec.Struct | None = None, handle: Handle | None = None, **values: Any
    ) -> None:
        self.args = self.args_type(**values) if args is None else args
        if handle is not None:
            self.handle = handle
        for field in msgspec.structs.fields(self.args):
            setattr(self, field.name, getattr(self.args, field.name))
        self.setup()

    def setup(self) -> None:
        """Called once, when arguments and handle are in place: prepare what every attempt needs."""

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        """Yield ``(path inside the args, what is wrong)``; types and unknown fields are checked already."""
        yield from ()

    def sign(self, pod: PodInfo) -> Any:
        """A hashable extra that alike pods must share for this plugin; most need none.

        Pods are alike when spec, labels, annotations, namespace, owner and priority agree. A plugin that reads more of
        a pod (its name, its uid, its age) returns that here.
        """
        return None

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
        """A hashable digest of the cluster-wide facts that this pod's verdicts depend on.

        While it stays equal, what the plugin said of the pod's class holds. The default is one version number per
        cluster-wide topic in ``reads``; a plugin that knows better (most pods have no affinity at all) says so here.
        """
        return view.versions(self.reads) if self.reads is not None else object()

    def wakes_on(self) -> Sequence[WakeOn]:
        """Events that may cure a rejection by this plugin."""
        return ()

    def keeps_for(self, metric: str) -> float | None:
        """For how many seconds a measurement is good enough for this plugin; None: as long as the provider says."""
        return None

    @classmethod
    def points(cls) -> tuple[str, ...]:
        """The extension points that this plugin implements, in the order of a cycle."""
        return tuple(point for point, base in POINTS.items() if issubclass(cls, base))


def _args_from_annotations(cls: type[Plugin]) -> type[msgspec.Struct] | None:
    """A struct from ``threshold: float = 0.8`` and the like, camelCased as Kubernetes writes arguments."""
    own = {
        name: hint
        for name, hint in inspect.get_annotations(cls).items()
        if not name.startswith("_") and "ClassVar" not in str(hint)
    }
    if not own:
        return None
    # Only its own: what the bases are annotated with may exist for type checkers alone.
    alone = types.SimpleNamespace(__annotations__=own)
    hints = typing.get_type_hints(
        alone, vars(inspect.getmodule(cls)) if inspect.getmodule(cls) else None
    )
    fields: list[Any] = []
    for name, hint in hints.items():
        fields.append((name, hint, cls.__dict__[name]) if name in cls.__dict__ else (name, hint))
    if not fields:
        return None
    return msgspec.defstruct(
        f"{cls.name}Args",
        fields,
        frozen=True,
        forbid_unknown_fields=True,
        rename="camel",
        kw_only=True,
    )


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the queue at all."""

    #: Uids of pods that it keeps out for certain. Where many wait for news of their own, they need not be asked about one by
    #: one whenever something happens.
    keeps_out: Container[str] = ()

    def pre_enqueue(self, pod: PodInfo) -> Rejected | None:
        """None lets the pod in."""
        raise NotImplementedError


class QueueSortPlugin(Plugin):
    """Orders the queue; exactly one per process."""

    def sort_key(self, pod: PodInfo, queued_at: float) -> Any:
        """Smaller keys are scheduled first; among pods of one lane where there are lanes."""
        raise NotImplementedError

    def lane(self, pod: PodInfo) -> str:
        """The lane that the pod waits in. A plugin that has lanes overrides this and ``next_lane``."""
        return ""

    def next_lane(self, waiting: Sequence[str]) -> str:
        """From which of the lanes in which pods wait the next one is taken; asked once for each pod that is taken."""
        return waiting[0]


class PreFilterPlugin(Plugin):
    """Looks at the pod once before any node."""

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | OnlyNodes | None:
        """None goes on; SKIP leaves out this plugin's Filter too."""
        raise NotImplementedError

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> Rejected | None:
        """What-if: ``added`` now runs on ``node``; bring ``state`` (a clone) up to date."""
        return None

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> Rejected | None:
        """What-if: ``removed`` no longer runs on ``node``; bring ``state`` (a clone) up to date."""
        return None


class FilterPlugin(Plugin):
    """Turns nodes down."""

    #: What a False in a bool mask says.
    reason: ClassVar[str] = ""
    #: What a False in a bool mask means: ``unresolvable(reason)`` where eviction cannot help.
    rejection: ClassVar[Rejected | None] = None
    #: Per-node form only: False has ``filter_node`` called at every attempt instead of remembering its answers.
    cache: ClassVar[bool] = True

    def filter(
        self, pod: PodInfo, nodes: Nodes, state: CycleState
    ) -> Mask | Verdicts | Rejected | None:
        """Column form: None passes all nodes, a Rejected turns all down, a mask keeps the True ones."""
        raise NotImplementedError

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        """Per-node form: None lets the node pass."""
        raise NotImplementedError


class PostFilterPlugin(Plugin):
    """Tries to make room when no node fits."""

    def postfilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Nominated | Rejected:
        """A nomination (with victims) ends the search; a rejection's reasons are appended to the pod's message."""
        raise NotImplementedError


class PreScorePlugin(Plugin):
    """Looks at the feasible nodes once before scoring."""

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | Rejected | None:
        """``nodes`` are all nodes and ``feasible`` marks those in play; SKIP leaves out this plugin's Score."""
        raise NotImplementedError


class ScorePlugin(Plugin):
    """Ranks nodes, each from 0 to 100 after normalisation."""

    cache: ClassVar[bool] = True

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        """Column form: one raw score per node, or one number for all."""
        raise NotImplementedError

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        """Per-node form; fractions are cut off."""
        raise NotImplementedError

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores | None:
        """Scale raw scores to 0..100 over the feasible nodes; None leaves them as they are.

        Rows that are not feasible may hold anything, before and after. Where ``score`` gave one number for all nodes,
        ``raw`` has a single entry, and the answer's single entry holds for all. See ``framework.scoring``.
        """
        return None


class ReservePlugin(Plugin):
    """Takes and gives back what a placement uses up outside the node's own columns."""

    def reserve(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        """Called after the pod is assumed."""
        return None

    def unreserve(self, pod: PodInfo, node: str, state: CycleState) -> None:
        """Undo ``reserve``; also called for a plugin whose reserve was never reached."""


class PermitPlugin(Plugin):
    """Holds a pod back before binding."""

    def permit(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | float | None:
        """None lets it through, seconds make it wait at most so long."""
        raise NotImplementedError


class PreBindPlugin(Plugin):
    """Work that must be done before the pod is bound."""

    def preflight(self, pod: PodInfo, node: str, state: CycleState) -> Skip | Rejected | None:
        """SKIP: nothing to do for this pod, do not call ``prebind``."""
        return None

    async def prebind(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        """Runs off the decision path."""
        return None


class BindPlugin(Plugin):
    """Tells the API server."""

    async def bind(self, pod: PodInfo, node: str, state: CycleState) -> Skip | Rejected | None:
        """SKIP passes the pod on to the next Bind plugin."""
        raise NotImplementedError


class PostBindPlugin(Plugin):
    """Hears of a pod that was bound."""

    async def postbind(self, pod: PodInfo, node: str, state: CycleState) -> None:
        """Nothing it does can change the outcome."""


#: Extension points as configurations name them, in the order of a cycle.
POINTS: Final[dict[str, type[Plugin]]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}
