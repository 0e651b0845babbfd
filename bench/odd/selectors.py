"""Labels, and what selects by them: label selectors, node selector terms."""

from __future__ import annotations

from typing import Any

from bench.odd.luck import Luck, Thing

#: Labels of pods, and of what selects them.
POD_LABELS = {
    "app": ("web", "db", "cache", ""),
    "tier": ("front", "back"),
    "rev": ("1", "2", "3"),
    "env": ("prod", "dev"),
}
NAMESPACES = ("default", "dev", "prod", "empty")
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
#: Labels of nodes.
NODE_LABELS = {
    ZONE: ("z1", "z2", "z3", ""),
    REGION: ("r1", "r2"),
    "disk": ("ssd", "hdd"),
    "cores": ("1", "5", "12", "007", "9223372036854775807", "9223372036854775808", "x1", "", "1.5", "1_0"),
    "rack": ("rk1", "rk2", "rk3"),
    "odd": ("", "007", "A.b_c"),
}  # fmt: skip
_NUMBERS = ("0", "4", "5", "11", "05", "9223372036854775807")
_NO_NUMBERS = ("", "x", "1.5", "1e2", " 4", "0x10", "9223372036854775808", "1_000", "٣")
#: What no label can have: such a requirement is an error, and kills its term or the whole attempt.
_NO_LABELS = ("a/b", "-3", " 4", "x" * 64)


def labels(luck: Luck, known: dict[str, tuple[str, ...]] = POD_LABELS) -> dict[str, str]:
    """Some of the labels."""
    return {key: luck.one(values) for key, values in known.items() if luck.chance(0.6)}


_EMPTY: tuple[Thing, ...] = ({}, {"matchLabels": {}}, {"matchExpressions": []})


def label_selector(luck: Luck) -> Thing | None:
    """A selector of pods; None and the empty one mean opposite things."""
    throw = luck.random()
    if throw < 0.04:
        return None
    if throw < 0.09:
        return luck.one(_EMPTY)
    selector: Thing = {}
    if throw < 0.6:
        key = luck.one(tuple(POD_LABELS))
        selector["matchLabels"] = {key: luck.one(POD_LABELS[key])}
    if throw > 0.5:
        selector["matchExpressions"] = luck.times(lambda: _requirement(luck), 2, 1)
    return selector


def _requirement(luck: Luck) -> Thing:
    key = luck.one((*POD_LABELS, "absent"))
    operator = luck.one(("In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist"))
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    values = POD_LABELS.get(key, ("a", "b"))
    return {"key": key, "operator": operator, "values": luck.some(values, 3, 1)}


def namespace_selector(luck: Luck) -> Thing:
    """A selector of namespaces."""
    return luck.one(_NAMESPACE_SELECTORS)


_NAMESPACE_SELECTORS: tuple[Thing, ...] = (
    {},
    {"matchLabels": {"team": "a"}},
    {"matchLabels": {"kubernetes.io/metadata.name": "prod"}},
    {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
    {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
)


def node_term(luck: Luck, names: list[str], wild: float = 1.0) -> Thing:
    """A node selector term; now and then an empty one, which matches nothing, or (if wild) a wrong one."""
    term: Thing = {}
    if luck.chance(0.04):
        return luck.one((term, {"matchExpressions": []}, {"matchFields": []}))
    if luck.chance(0.85):
        term["matchExpressions"] = luck.times(lambda: _node_requirement(luck, names, wild), 2, 1)
    if luck.chance(0.25) or not term:
        most = 2 if luck.chance(0.2) else 1
        term["matchFields"] = luck.times(lambda: _field(luck, names), most, 1)
        if luck.chance(0.05 * wild):
            term["matchFields"].append(luck.one(_WRONG_FIELDS))
    return term


#: What the API server refuses; a term with such a requirement matches nothing, or fails the attempt.
_WRONG: tuple[Thing, ...] = (
    {"key": "disk", "operator": "Like", "values": ["ssd"]},
    {"key": "disk", "operator": "In", "values": []},
    {"key": "disk", "operator": "In"},
    {"key": "disk", "operator": "Exists", "values": ["ssd"]},
    {"key": "cores", "operator": "Gt", "values": ["1", "2"]},
    {"key": "not a key", "operator": "Exists"},
)
_WRONG_FIELDS: tuple[Thing, ...] = (
    {"key": "metadata.name", "operator": "In", "values": ["n00", "n01"]},
    {"key": "metadata.name", "operator": "In", "values": []},
    {"key": "metadata.name", "operator": "NotIn", "values": ["n00", "n01"]},
    {"key": "metadata.name", "operator": "Exists"},
    {"key": "metadata.namespace", "operator": "In", "values": ["n00"]},
)
_WRONG_LABELS: tuple[Thing, ...] = (
    {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]},
    {"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["1"]}]},
    {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["web"]}]},
    {"matchLabels": {"app": "not a value"}},
)


def wrong_label_selector(luck: Luck) -> Thing:
    """A label selector that the API server refuses."""
    return luck.one(_WRONG_LABELS)


def _node_requirement(luck: Luck, names: list[str], wild: float) -> Thing:
    if luck.chance(0.02 * wild):
        return luck.one(_WRONG)
    operator = luck.one(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    key = luck.one((*NODE_LABELS, HOST, "absent"))
    if operator in {"Gt", "Lt"}:
        key = "cores" if luck.chance(0.7) else key
        number = (
            luck.one((*_NO_NUMBERS, "-4", "+5")) if luck.chance(0.15 * wild) else luck.one(_NUMBERS)
        )
        return {"key": key, "operator": operator, "values": [number]}
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    if key == HOST:
        values: tuple[str, ...] = (*names, "nowhere")
    else:
        values = NODE_LABELS.get(key, ("a",))
    if luck.chance(0.02 * wild):
        values = _NO_LABELS
    return {"key": key, "operator": operator, "values": luck.some(values, 3, 1)}


def _field(luck: Luck, names: list[str]) -> Thing:
    operator = luck.one(("In", "In", "NotIn"))
    return {"key": "metadata.name", "operator": operator, "values": [luck.one((*names, "nowhere"))]}


def preferred_nodes(luck: Luck, names: list[str], wild: float = 0.3) -> list[Thing]:
    """Preferred node selector terms."""
    return luck.times(
        lambda: {
            "weight": luck.one((1, 7, 50, 100)) if luck.chance(0.9) else 0,
            "preference": node_term(luck, names, wild),
        },
        3,
        1,
    )


def node_affinity(luck: Luck, names: list[str]) -> Thing:
    """A pod's node affinity."""
    affinity: Thing = {}
    if luck.chance(0.75):
        terms = luck.times(lambda: node_term(luck, names), 3, 1)
        if luck.chance(0.15):  # every term names nodes: PreFilter looks at those alone
            terms = luck.times(lambda: {"matchFields": [_field(luck, names)]}, 2, 1)
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if luck.chance(0.6):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred_nodes(luck, names)
    return affinity


def node_selector(luck: Luck) -> dict[str, Any]:
    """A pod's nodeSelector."""
    key = luck.one(tuple(NODE_LABELS))
    return {key: luck.one(NODE_LABELS[key])}
