"""An explanation as JSON and back: what ``-o json`` prints, and what a running scheduler sends to ``bayplan explain``.

Of many nodes a part may be sent; ``counts`` then says how many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.cycle.record import NodeLine, PluginScore
from bayplan.framework.scoring import UNKNOWN
from bayplan.framework.status import Code, Rejected
from bayplan.sim.explanation import Eviction, Explanation, NodeDetail, Room, Victim
from bayplan.sim.relaxation import Kind, Suggestion

_CODES = {code.label: code for code in Code}


def to_json(explanation: Explanation, most: int | None = None) -> dict[str, Any]:
    """Nodes, verdicts, scores, the choice and what would help; of fitting and of other nodes at most so many each."""
    fitting, turned_down = explanation.counts
    lines = explanation.lines
    if most is not None:
        lines = [*explanation.fitting[:most], *explanation.turned_down[:most]]
        wanted = {explanation.chosen, explanation.placed_on} - {line.node for line in lines}
        lines += [line for line in explanation.lines if line.node in wanted]
    answer: dict[str, Any] = {
        "pod": explanation.pod,
        "schedulerName": explanation.scheduler,
        "fits": bool(explanation.chosen),
        "chosen": explanation.chosen or None,
        "best": explanation.best if most is None else explanation.best[:most],
        "explanation": explanation.headline(),
        "counts": {"fitting": fitting, "turnedDown": turned_down},
        "plugins": explanation.plugins,
        "nodes": [_line_json(line) for line in lines],
        "reasons": [
            {"plugin": plugin, "reason": reason, "nodes": count}
            for (plugin, reason), count in explanation.reasons.most_common()
        ],
        "suggestions": [suggestion.to_json() for suggestion in explanation.suggestions],
        "notes": explanation.notes,
    }
    if explanation.message:
        answer["message"] = explanation.message
    if explanation.policy:
        answer["policy"] = explanation.policy
    if explanation.placed_on:
        placed = {"node": explanation.placed_on, "explanation": explanation.whereabouts()}
        answer["placedOn"] = placed
    if explanation.preemption is not None:
        answer["preemption"] = _eviction_json(explanation.preemption)
    if explanation.detail is not None:
        answer["detail"] = _detail_json(explanation.detail)
    return answer


def from_json(answer: Mapping[str, Any]) -> Explanation:
    """What was sent. Raises ``KeyError``, ``TypeError`` or ``ValueError`` where it is no explanation."""
    counts = answer["counts"]
    placed = answer.get("placedOn") or {}
    evicted = answer.get("preemption")
    detail = answer.get("detail")
    return Explanation(
        pod=answer["pod"],
        scheduler=answer["schedulerName"],
        lines=[_line(line) for line in answer["nodes"]],
        plugins=dict(answer["plugins"]),
        chosen=answer["chosen"] or "",
        best=list(answer["best"]),
        message=answer.get("message", ""),
        reasons=Counter({(r["plugin"], r["reason"]): r["nodes"] for r in answer["reasons"]}),
        preemption=_eviction(evicted) if evicted is not None else None,
        suggestions=[_suggestion(each) for each in answer["suggestions"]],
        placed_on=placed.get("node", ""),
        policy=answer.get("policy", ""),
        detail=_detail(detail) if detail is not None else None,
        notes=list(answer["notes"]),
        counted=(counts["fitting"], counts["turnedDown"]),
        said=answer["explanation"],
        said_of_place=placed.get("explanation", ""),
    )


# --- one node ---------------------------------------------------------------------------------------------------------


def _line_json(line: NodeLine) -> dict[str, Any]:
    if line.rejected is not None:
        return {
            "node": line.node,
            "code": line.rejected.code.label,
            "plugin": line.rejected.plugin,
            "reasons": list(line.rejected.reasons),
        }
    return {
        "node": line.node,
        "code": "Success",
        "total": line.total,
        "scores": {
            name: {
                "raw": None if score.no_data else score.raw,
                "normalized": score.normalized,
                "weight": score.weight,
                "weighted": score.weighted,
            }
            for name, score in line.scores.items()
        },
    }


def _line(sent: Mapping[str, Any]) -> NodeLine:
    if sent["code"] == "Success":
        scores = {
            name: PluginScore(
                UNKNOWN if one["raw"] is None else one["raw"],
                one["normalized"],
                one["weight"],
                one["weighted"],
                no_data=one["raw"] is None,
            )
            for name, one in sent["scores"].items()
        }
        return NodeLine(sent["node"], -1, None, scores)
    code = _CODES.get(sent["code"], Code.UNSCHEDULABLE)
    return NodeLine(
        sent["node"], -1, Rejected(*sent["reasons"], code=code, plugin=sent["plugin"]), {}
    )


def _detail_json(detail: NodeDetail) -> dict[str, Any]:
    return {
        **_line_json(detail.line),
        "resources": [
            {
                "resource": room.resource,
                "allocatable": room.allocatable,
                "requested": room.requested,
                "asked": room.asked,
                "enough": room.enough,
            }
            for room in detail.room
        ],
        "pods": {"count": detail.pods[0], "allocatable": detail.pods[1]},
        "objections": [{"plugin": plugin, "message": text} for plugin, text in detail.objections],
    }


def _detail(sent: Mapping[str, Any]) -> NodeDetail:
    room = [
        Room(one["resource"], one["allocatable"], one["requested"], one["asked"], one["enough"])
        for one in sent["resources"]
    ]
    pods = sent["pods"]["count"], sent["pods"]["allocatable"]
    objections = [(one["plugin"], one["message"]) for one in sent["objections"]]
    return NodeDetail(_line(sent), room, pods, objections)


# --- what would help --------------------------------------------------------------------------------------------------


def _eviction_json(eviction: Eviction) -> dict[str, Any]:
    return {
        "node": eviction.node,
        "victims": [{"pod": each.key, "priority": each.priority} for each in eviction.victims],
        "violations": eviction.violations,
    }


def _eviction(sent: Mapping[str, Any]) -> Eviction:
    victims = [Victim(each["pod"], each["priority"]) for each in sent["victims"]]
    return Eviction(sent["node"], victims, sent["violations"])


def _suggestion(sent: Mapping[str, Any]) -> Suggestion:
    nodes: Iterable[str] = sent["nodes"]
    return Suggestion(
        kind=Kind(sent["kind"]),
        text=sent["text"],
        change=sent["change"],
        nodes=tuple(nodes),
        size=0.0,
        plugin=sent["plugin"],
    )
