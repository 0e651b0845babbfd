"""A profile in another's shadow: it decides some of the same pods, and nothing comes of it but a record.

Asked by the loop after an attempt and before anything is done about it, so that both have seen the same cluster. The shadow
has dice and a handle of its own: it cannot sway the decision proper. It costs an attempt once more; its share bounds that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.cycle.outcome import Failed, Placed
from bayplan.errors import PluginError
from bayplan.runtime.reloading.arms import Account, Share, is_among_the_best
from bayplan.runtime.reloading.trial import look

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.outcome import Outcome
    from bayplan.telemetry.metrics import Metrics

#: Both chose the same node, or one that is as good; different nodes; only one of them found any; the shadow's plugin broke.
SAME, OTHER_NODE, ONLY_STABLE, ONLY_SHADOW, BROKEN = (
    "same",
    "other_node",
    "only_stable",
    "only_shadow",
    "error",
)
#: Disagreements kept.
KEPT: Final = 200


class Disagreement(NamedTuple):
    """A pod that the two would treat differently."""

    pod: str
    verdict: str
    #: Nodes, empty where none was found, and what the shadow broke on.
    stable: str
    shadow: str
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return self._asdict()


class Shadow:
    """One profile in the shadow of another."""

    def __init__(
        self,
        desk: Desk,
        share: Share,
        profile: str,
        account: Account,
        metrics: Metrics,
        timer: Callable[[], float],
    ) -> None:
        """``desk``: its own; ``profile``: that in whose shadow it is."""
        self.desk = desk
        self._share = share
        self._profile = profile
        self._account = account
        self._metrics = metrics
        self._timer = timer
        self.verdicts: dict[str, int] = {}
        self.disagreements: deque[Disagreement] = deque(maxlen=KEPT)

    def compare(self, pod: PodInfo, outcome: Outcome) -> None:
        """Decide a pod, too; ``outcome``: what it came to."""
        if isinstance(outcome, Failed) or not self._share.takes(pod):
            return
        began = self._timer()
        stable = outcome.node if isinstance(outcome, Placed) else ""
        account, node, why = self._account, "", ""
        try:
            decision = look(pod, self.desk)
            node = decision.node
            if stable and node:
                row = decision.evaluation.view.row_of(stable)
                agree = row is not None and is_among_the_best(decision, row)
                verdict = SAME if agree else OTHER_NODE
            elif stable or node:
                verdict = ONLY_STABLE if stable else ONLY_SHADOW
            else:
                verdict = SAME
            if node:
                account.scheduled += 1
                account.chose(decision)
            else:
                account.unschedulable += 1
                why = decision.picture().message()
        except PluginError as error:
            verdict, why = BROKEN, str(error)
            account.errors += 1
        account.attempts += 1
        account.took(self._timer() - began)
        self._note(Disagreement(pod.key, verdict, stable, node, why))

    def _note(self, found: Disagreement) -> None:
        self.verdicts[found.verdict] = self.verdicts.get(found.verdict, 0) + 1
        self._metrics.shadow(self._profile, self.desk.profile.name, found.verdict)
        if found.verdict != SAME:
            self.disagreements.append(found)
