"""What is kept of an evaluation stays true while volumes, claims, services, namespaces and the like come, change and go."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage_objects import (
    DRIVER,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
    pod_with,
    required,
)

from bayplan.cluster.audit import check
from bayplan.cycle.attempt import evaluate
from bayplan.cycle.evaluation import Evaluation
from bayplan.cycle.record import Decision, Picture
from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace
from bayplan.model.workloads import Service
from bayplan.testing import make_cluster, make_desk, make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GOOGLE = {"gcePersistentDisk": {"pdName": "d"}}


def namespace(name: str, **labels: str) -> Namespace:
    return decode_as(Namespace, {"metadata": {"name": name, "labels": labels}})


def service(**selector: str) -> Service:
    meta = {"name": "svc", "namespace": "default"}
    return decode_as(Service, {"metadata": meta, "spec": {"selector": selector}})


#: Things with their states; each state may be put in place of any other, and each may be removed.
THINGS: list[list[Any]] = [
    [make_claim("c0"), make_claim("c0", volume="v0"), make_claim("c0", "fast", size="2Gi")],
    [make_claim("c1", volume="v1"), make_claim("c1", deleted=True), make_claim("c1", "now")],
    [make_claim("once", modes=["ReadWriteOncePod"]), make_claim("once", volume="v0")],
    [
        make_volume("v0", nodes=required({ZONE: ["z0"]})),
        make_volume("v0", claim="c0", nodes=required({HOST: ["n1"]})),
        make_volume("v0", labels={ZONE: "z1"}, size="9Gi"),
    ],
    [make_volume("v1", claim="c1"), make_volume("v1", labels={ZONE: "z0__z1"}, claim="c1")],
    [
        make_class("wait"),
        make_class("wait", "kubernetes.io/no-provisioner"),
        make_class("wait", "x"),
    ],
    [make_class("fast"), make_class("fast", mode="Immediate")],
    [make_driver(storage_capacity=True), make_driver(storage_capacity=False)],
    [
        make_capacity("p", "fast", {"matchLabels": {ZONE: "z1"}}, capacity="5Gi"),
        make_capacity("p", "fast", {}, capacity="1Gi"),
    ],
    [make_csi_node("n0", {DRIVER: 1}), make_csi_node("n0", {DRIVER: 3}), make_csi_node("n0")],
    [make_csi_node("n1", {DRIVER: 0}), make_csi_node("n1", migrated=["kubernetes.io/gce-pd"])],
    [make_attachment("a", "n0", "v0"), make_attachment("a", "n1", "v1")],
    [service(app="web"), service(app="db")],
    [namespace("blue", team="x"), namespace("blue", team="y")],
    [make_node("n0").zone("z0").build(), make_node("n0").zone("z1").build()],
    [make_node("n2").build(), make_node("n2").zone("z0").image("app:1", 900 << 20).build()],
    [
        pod_with("r0", "c0", node="n0"),
        pod_with("r0", "once", node="n1"),
        pod_with("r0", GOOGLE, node="n0"),
    ],
    [
        make_pod("r1").label("app", "web").on("n0").build(),
        make_pod("r1", "blue").label("app", "web").on("n1").build(),
        make_pod("r1").label("app", "web").on("n2").terminating().build(),
    ],
    [
        make_pod("r2", "blue").affinity({"app": "web"}, ZONE, anti=True).on("n1").build(),
        make_pod("r2", "blue").affinity({"app": "web"}, HOST, weight=9).on("n0").build(),
    ],
]


def by_team() -> Any:
    """A pod that keeps away from whatever web pods there are in namespaces of team x."""
    pod = make_pod("p").label("app", "web")
    pod.affinity({"app": "web"}, ZONE, anti=True)
    affinity = pod.manifest["spec"]["affinity"]["podAntiAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    term["namespaceSelector"] = {"matchLabels": {"team": "x"}}
    return pod.build()


CLASSES = [
    pod_with("p", "c0"),
    pod_with("p", "c1", "c0"),
    pod_with("p", "once", GOOGLE),
    pod_with("p", GOOGLE),
    make_pod("p").label("app", "web").image("app:1").build(),
    by_team(),
]
EVENTS = st.lists(
    st.tuples(st.integers(0, len(THINGS) - 1), st.integers(0, 3)), min_size=1, max_size=25
)


def said(evaluation: Evaluation, pod: Any) -> Any:
    """Everything: why the pod fails whole, or what is said of each node, with scores where one fits."""
    if evaluation.feasible is None:
        return evaluation.prefilter.rejection
    decision = Decision(pod, evaluation, {})
    decision.fits = bool(evaluation.feasible.open.any())
    if decision.fits:
        evaluation.ranking(pod)
    return Picture(decision).lines()


@settings(max_examples=80)
@given(EVENTS)
def test_what_is_kept_equals_what_is_fresh(events: list[tuple[int, int]]) -> None:
    cluster = make_cluster(make_node("n0").zone("z0"), make_node("n1").zone("z1"))
    desk = make_desk(cluster)
    for number, (which, state) in enumerate(events):
        states = THINGS[which]
        if state < len(states):
            cluster.put(states[state])
        else:
            cluster.remove(states[0])
        for variant, probe in enumerate(CLASSES):
            if (number + variant) % 2:
                continue  # some classes fall behind by an event
            pod = cluster.info(probe)
            kept = evaluate(pod, desk).evaluation
            assert said(kept, pod) == said(Evaluation(pod, desk.classes.plan, desk.view), pod)
    check(cluster)
