"""Every kind of constraint, on the real API server: pods go where they may go, and those that fit nowhere are told why.

One cluster and one scheduler for all of them; each test has a namespace, and labels that no other test selects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from bayplan.testing.control_plane import Binaries
from tests.e2e.stage import Stage, namespace, node, node_of, open_stage, pod, scheduled
from tests.e2e.subjects import Subject

pytestmark = pytest.mark.e2e

ZONES = ("a", "b", "c")
WORKERS = [f"{zone}{number}" for zone in ZONES for number in (1, 2)]


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, binaries: Binaries, subject: Subject
) -> Iterator[Stage]:
    with open_stage(tmp_path_factory.mktemp("placement"), binaries, subject) as stage:
        for name in WORKERS:
            stage.add(node(name).zone(name[0]).label("disk", "ssd" if name == "b1" else "hdd"))
        stage.add(node("gpu").capacity({"example.com/gpu": "2"}).taint("gpu", "yes"))
        stage.add(node("tiny", cpu="500m", pods="2").taint("tiny"))
        stage.add(node("cordoned").label("disk", "tape").cordoned())
        stage.start_scheduler().wait_ready()
        yield stage


@pytest.fixture
def own(request: pytest.FixtureRequest, stage: Stage) -> str:
    """A namespace for one test."""
    name: str = request.node.name.removeprefix("test_").replace("_", "-")[:60].strip("-")
    stage.add(namespace(name, test=name))
    return name


def wait_all_but_one(stage: Stage, keys: list[str]) -> str:
    """Wait until there is one of these that is not bound, and none more; which one."""
    bound = stage.pods.wait(
        lambda pods: (
            sum(key in pods and node_of(pods[key]) == "" for key in keys) == 1
            and sum(key in pods for key in keys) == len(keys)
        ),
        f"node for all but one of {keys}",
    )
    left = next(key for key in keys if not node_of(bound[key]))
    stage.may_wait.add(left)
    return left


def test_node_selector(stage: Stage, own: str) -> None:
    stage.add(pod("p", own).node_selector(disk="ssd"))

    assert stage.wait_bound(f"{own}/p") == {f"{own}/p": "b1"}
    assert stage.wait_event(f"{own}/p", "Scheduled") == f"Successfully assigned {own}/p to b1"


def test_required_and_preferred_node_affinity(stage: Stage, own: str) -> None:
    chosen = pod("p", own)
    chosen.manifest["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {
                                "key": "topology.kubernetes.io/zone",
                                "operator": "NotIn",
                                "values": ["a", "b"],
                            },
                            {"key": "disk", "operator": "In", "values": ["hdd"]},
                        ]
                    }
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "preference": {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["c2"]}
                        ]
                    },
                }
            ],
        }
    }
    stage.add(chosen)

    assert stage.wait_bound(f"{own}/p") == {f"{own}/p": "c2"}


def test_a_taint_keeps_off_and_a_toleration_lets_in(stage: Stage, own: str) -> None:
    stage.add(pod("p", own).node_selector({"kubernetes.io/hostname": "gpu"}))
    message = stage.wait_refused(f"{own}/p")
    stage.may_wait.add(f"{own}/p")
    stage.add(pod("q", own).node_selector({"kubernetes.io/hostname": "gpu"}).tolerate("gpu", "yes"))

    nodes = len(stage.plane.admin.items("/api/v1/nodes"))
    assert message == (
        f"0/{nodes} nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s), "
        f"{nodes - 3} node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
        f"preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    )
    assert stage.wait_event(f"{own}/p", "FailedScheduling") == message
    assert stage.wait_bound(f"{own}/q") == {f"{own}/q": "gpu"}


def test_extended_resources_are_counted(stage: Stage, own: str) -> None:
    keys = [f"{own}/{name}" for name in ("p", "q", "r")]
    for key in keys:
        wanting = (
            pod(key.split("/")[1], own).requests({"example.com/gpu": "1"}).tolerate("gpu", "yes")
        )
        # Nobody can promise more of such a resource than there is, so that the API server wants a limit.
        resources = wanting.manifest["spec"]["containers"][0]["resources"]
        resources["limits"] = resources["requests"]
        stage.add(wanting)
    left = wait_all_but_one(stage, keys)

    assert {stage.node_of(key) for key in keys} == {"gpu", ""}
    assert "Insufficient example.com/gpu" in stage.wait_refused(left)


def test_room_for_pods_is_counted(stage: Stage, own: str) -> None:
    keys = [f"{own}/p{number}" for number in range(3)]
    for key in keys:
        stage.add(
            pod(key.split("/")[1], own)
            .node_selector({"kubernetes.io/hostname": "tiny"})
            .tolerate("tiny", operator="Exists")
        )
    left = wait_all_but_one(stage, keys)

    assert "1 Too many pods" in stage.wait_refused(left)


def test_the_greediest_init_container_decides(stage: Stage, own: str) -> None:
    greedy = pod("p", own).requests(cpu="100m")
    greedy.manifest["spec"]["initContainers"] = [
        {"name": "first", "image": "none", "resources": {"requests": {"cpu": "5"}}}
    ]
    stage.add(greedy)
    stage.may_wait.add(f"{own}/p")

    message = stage.wait_refused(f"{own}/p")
    assert "Insufficient cpu" in message
    assert message.startswith("0/9 nodes are available: 1 node(s) were unschedulable, ")


def test_host_ports(stage: Stage, own: str) -> None:
    for name in ("p", "q"):
        stage.add(pod(name, own).node_selector(disk="ssd").host_port(8080))
        if name == "p":
            stage.wait_bound(f"{own}/p")
    stage.may_wait.add(f"{own}/q")

    assert stage.node_of(f"{own}/p") == "b1"
    assert "1 node(s) didn't have free ports for the requested pod ports" in stage.wait_refused(
        f"{own}/q"
    )


def test_pods_that_belong_together_and_pods_that_do_not(stage: Stage, own: str) -> None:
    zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    stage.add(pod("anchor", own).label("app", "anchor").node_selector({zone: "c"}))
    stage.wait_bound(f"{own}/anchor")
    names = [f"web{number}" for number in range(2)]
    for name in names:
        stage.add(
            pod(name, own)
            .label("app", "web")
            .affinity({"app": "anchor"}, zone)
            .affinity({"app": "web"}, host, anti=True)
        )
    bound = stage.wait_bound(*(f"{own}/{name}" for name in names))
    stage.add(
        pod("late", own)
        .label("app", "web")
        .affinity({"app": "anchor"}, zone)
        .affinity({"app": "web"}, host, anti=True)
    )
    stage.may_wait.add(f"{own}/late")

    assert sorted(bound.values()) == ["c1", "c2"]
    assert "2 node(s) didn't match pod anti-affinity rules" in stage.wait_refused(f"{own}/late")


def test_affinity_to_pods_of_other_namespaces_by_their_labels(stage: Stage, own: str) -> None:
    stage.add(namespace("elsewhere", team="blue"))
    stage.add(pod("cache", "elsewhere").label("app", "cache").node_selector(disk="ssd"))
    stage.wait_bound("elsewhere/cache")
    near = pod("p", own)
    near.manifest["spec"]["affinity"] = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "cache"}},
                    "namespaceSelector": {"matchLabels": {"team": "blue"}},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
    stage.add(near)

    assert stage.wait_bound(f"{own}/p") == {f"{own}/p": "b1"}


def test_spread_over_zones_and_nodes(stage: Stage, own: str) -> None:
    names = [f"p{number}" for number in range(6)]
    for name in names:
        stage.add(
            pod(name, own)
            .label("app", "spread")
            .spread(1, "topology.kubernetes.io/zone", {"app": "spread"})
            .spread(1, "kubernetes.io/hostname", {"app": "spread"})
        )
    bound = stage.wait_bound(*(f"{own}/{name}" for name in names))

    # A node without the zone's label takes no part, so that each of the six others has one.
    assert Counter(bound.values()) == Counter(WORKERS)


def test_case_46_gates_hold_a_pod_until_they_are_gone(stage: Stage, own: str) -> None:
    gated = pod("p", own)
    gated.manifest["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    stage.add(gated, pod("q", own))
    stage.wait_bound(f"{own}/q")
    held = stage.pods.objects[f"{own}/p"]
    stage.plane.admin.patch(gated.manifest, {"spec": {"schedulingGates": None}})

    assert scheduled(held)["reason"] == "SchedulingGated"
    assert "nodeName" not in held["spec"]
    assert stage.wait_bound(f"{own}/p")
    assert stage.events(f"{own}/p", "FailedScheduling") == []


def test_case_46_pods_of_others_are_left_alone_but_counted(stage: Stage, own: str) -> None:
    alone = {"kubernetes.io/hostname": "alone"}
    stage.add(node("alone", cpu="1").taint("alone"))
    # Nobody schedules the first; somebody has placed the second by hand.
    stage.add(pod("foreign", own, scheduler="somebody-else"))
    stage.add(pod("placed", own, scheduler="somebody-else").on("alone").requests(cpu="700m"))
    stage.may_wait.update({f"{own}/foreign", f"{own}/big"})
    stage.add(
        pod("big", own)
        .node_selector(alone)
        .tolerate("alone", operator="Exists")
        .requests(cpu="400m"),
    )
    message = stage.wait_refused(f"{own}/big")
    stage.add(
        pod("small", own)
        .node_selector(alone)
        .tolerate("alone", operator="Exists")
        .requests(cpu="300m")
    )

    assert "1 Insufficient cpu" in message
    assert stage.wait_bound(f"{own}/small") == {f"{own}/small": "alone"}
    assert stage.node_of(f"{own}/foreign") == ""
    assert scheduled(stage.pods.objects[f"{own}/foreign"]) == {}


def test_a_pod_that_waits_is_placed_once_there_is_room(stage: Stage, own: str) -> None:
    stage.add(pod("p", own).node_selector(wanted="yes"))
    stage.wait_refused(f"{own}/p")
    stage.add(node("wanted").label("wanted", "yes").taint("later"))
    stage.plane.admin.patch(node("wanted").manifest, {"spec": {"taints": None}})

    assert stage.wait_bound(f"{own}/p") == {f"{own}/p": "wanted"}


def test_a_pod_that_ends_makes_room(stage: Stage, own: str) -> None:
    narrow = {"kubernetes.io/hostname": "narrow"}
    stage.add(node("narrow", cpu="1").taint("narrow"))
    for name in ("first", "second"):
        stage.add(
            pod(name, own)
            .node_selector(narrow)
            .tolerate("narrow", operator="Exists")
            .requests(cpu="600m")
        )
        if name == "first":
            stage.wait_bound(f"{own}/first")
    stage.wait_refused(f"{own}/second")
    stage.plane.admin.delete(pod("first", own).manifest)

    assert stage.wait_bound(f"{own}/second") == {f"{own}/second": "narrow"}
