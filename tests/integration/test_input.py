"""Fault cases 28 to 37 and 46: pods and nodes that ask for odd things, or are odd themselves.

What the plugins make of such input is compared with kube-scheduler's verdicts in ``tests/conformance``; here it comes by
watch, and the question is whether the scheduler lives and goes on. Objects are spoilt in the store, where nothing is
checked: an older API server, or a feature that is off by now, has let them in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.testing import PodBuilder, make_node
from tests.integration.rig import Obj, Rig, make_pod, on_rig

HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HUGE = str(2**63 - 1)


def spoilt(rig: Rig, name: str, **spec: Any) -> None:
    """A pod with something in its spec that the API server would not take."""
    rig.add(make_pod(name))
    rig.change("pods", name, lambda pod: pod["spec"].update(spec))


def node_affinity(*terms: Obj) -> Obj:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def pod_affinity(selector: Obj, *, anti: bool = False, **term: Any) -> Obj:
    kind = "podAntiAffinity" if anti else "podAffinity"
    return {kind: {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": selector, **term}]}}


async def lives(rig: Rig, name: str = "good") -> None:
    """Another pod is scheduled as ever."""
    rig.add(make_pod(name))
    await rig.until_bound(name)


@pytest.mark.parametrize("amount", [HUGE, "1e30", "9999Ei"])
def test_case_28_more_than_64_bits_hold(tmp_path: Path, amount: str) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(memory=HUGE))
        for name in ("huge", "placed"):
            spoilt(
                rig,
                name,
                containers=[{"name": "c", "resources": {"requests": {"cpu": amount}}}],
                nodeName="a" if name == "placed" else "",
            )
        async with rig.scheduler():
            await rig.until(lambda: rig.failures("huge"))
            assert "1 Insufficient cpu" in rig.failures("huge")[0]
            # The one that sits there fills the node, and does not wrap around to make it empty.
            rig.add(make_pod("small").requests(cpu="1m"))
            await rig.until(lambda: rig.failures("small"))
            assert "1 Insufficient cpu" in rig.failures("small")[0]
            rig.delete("pods", "placed")
            await rig.until_bound("small")

    on_rig(scenario, tmp_path)


def test_case_28_an_amount_that_is_none(tmp_path: Path) -> None:
    """``1e18Gi`` has two exponents; kube-scheduler cannot read it either."""

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        requests = {"requests": {"cpu": "1e18Gi"}}
        spoilt(rig, "odd", containers=[{"name": "c", "resources": requests}])
        async with rig.scheduler() as process:
            await lives(rig)
            assert process.around.metrics._objects_skipped.values == {("pods",): 1}

    on_rig(scenario, tmp_path)


def test_case_29_pods_that_ask_for_nothing_are_counted(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(pods="2"))
        async with rig.scheduler():
            rig.add(make_pod("one"), make_pod("two"))
            await rig.until_bound("one", "two")
            rig.add(make_pod("three"))
            await rig.until(lambda: rig.condition("three"))
            assert "1 Too many pods" in rig.condition("three")["message"]

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("left", [{}, {"cpu": "0", "memory": "0", "pods": "0"}, {"cpu": "1"}])
def test_case_30_and_31_a_node_shrinks_below_what_runs_there(
    tmp_path: Path, left: dict[str, str]
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler() as process:
            rig.add(make_pod("first").requests(cpu="3", memory="1Gi"))
            await rig.until_bound("first")
            rig.change("nodes", "a", lambda node: node["status"].update(allocatable=left))
            rig.add(make_pod("small").requests(cpu="100m"))
            await rig.until(lambda: rig.condition("small"))
            assert rig.condition("small")["reason"] == "Unschedulable"
            # Beside a node that has room it is looked at and passed over, and scores are what they ought to be.
            rig.add(make_node("b"))
            await rig.until_bound("small")
            await lives(rig)
            assert {rig.node_of("small"), rig.node_of("good")} == {"b"}
            attempts = process.around.metrics._attempts.values
            assert not any(result == "error" for result, _ in attempts)

    on_rig(scenario, tmp_path)


def test_case_32_a_node_by_a_name_that_is_not_there(tmp_path: Path) -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["missing"]}

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        spoilt(rig, "odd", affinity=node_affinity({"matchFields": [field]}))
        async with rig.scheduler():
            await rig.until(lambda: rig.condition("odd"))
            assert rig.condition("odd")["reason"] == "Unschedulable"
            assert "NodeAffinity" in rig.condition("odd")["message"]
            await lives(rig)

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("anti", [True, False])
@pytest.mark.parametrize(
    "selector",
    [
        pytest.param(
            {"matchExpressions": [{"key": "x", "operator": "Nonsense"}]}, id="an operator"
        ),
        pytest.param({"matchLabels": {"app": "-bad value-"}}, id="a value"),
        pytest.param({"matchLabels": {"/": "x"}}, id="a key"),
        pytest.param({"matchExpressions": "none"}, id="no list"),
    ],
)
def test_case_33_a_malformed_selector_costs_its_own_pod_only(
    tmp_path: Path, selector: Obj, *, anti: bool
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        spoilt(rig, "bad", affinity=pod_affinity(selector, anti=anti))
        # The same on a pod that runs already: the next one is compared with it.
        spoilt(rig, "placed", affinity=pod_affinity(selector, anti=True), nodeName="a")
        async with rig.scheduler():
            await lives(rig)
            rig.add(make_pod("labelled").label("app", "web"))
            await rig.until_bound("labelled")
            await rig.pass_s(30)
            assert rig.node_of("bad") == ""

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize(
    ("affinity", "fits"),
    [
        pytest.param(
            node_affinity(
                {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["five"]}]}
            ),
            False,
            id="greater than no number",
        ),
        pytest.param(node_affinity(), False, id="no terms"),
        pytest.param(node_affinity({}), False, id="an empty term"),
        pytest.param(pod_affinity({"matchLabels": {"app": "web"}}), False, id="own namespace"),
        pytest.param(
            pod_affinity({"matchLabels": {"app": "web"}}, namespaceSelector={}),
            True,
            id="all namespaces",
        ),
        pytest.param(
            pod_affinity({}, namespaceSelector={}), True, id="whoever it is, wherever he is"
        ),
    ],
)
def test_case_34_what_is_empty_and_what_is_not_there(
    tmp_path: Path, affinity: Obj, *, fits: bool
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").label("n", "7"))
        theirs = make_pod("web").label("app", "web").on("a").manifest
        theirs["metadata"]["namespace"] = "theirs"
        rig.api.store.create("namespaces", {"metadata": {"name": "theirs"}})
        rig.api.store.create("pods", theirs)
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            spoilt(rig, "odd", affinity=affinity)
            await rig.until(lambda: rig.node_of("odd") or rig.failures("odd"))
            await rig.pass_s(15)
            assert bool(rig.node_of("odd")) is fits
            await lives(rig)

    on_rig(scenario, tmp_path)


def test_case_36_a_pod_of_five_hundred_containers(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"))
        pod = make_pod("large").annotation("text", "x" * 200_000)
        container = pod.manifest["spec"]["containers"][0]
        pod.manifest["spec"]["containers"] = [
            {**container, "name": f"c{number}", "resources": {"requests": {"cpu": "1m"}}}
            for number in range(500)
        ]
        pod.label("app", "x")
        for number in range(200):
            pod.spread(1, f"example.com/key-{number}", {"app": "x"}, hard=False)
        async with rig.scheduler() as process:
            rig.add(pod)
            await rig.until_bound("large")
            cluster = process.scheduler.board.cluster
            cpu = cluster.nodes.requested[cluster.nodes.resources.id("cpu")].data
            assert sum(cpu) == 500
            await lives(rig)

    on_rig(scenario, tmp_path)


def test_case_36_a_pod_with_a_megabyte_of_annotations(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.add(make_pod("large"))
        text = {f"example.com/note-{number}": "x" * 10_000 for number in range(100)}
        rig.change("pods", "large", lambda pod: pod["metadata"].update(annotations=text))
        async with rig.scheduler():
            await rig.until_bound("large")
            await lives(rig)

    on_rig(scenario, tmp_path)


def spread(name: str) -> PodBuilder:
    return make_pod(name).label("app", "web").spread(1, "example.com/rack", {"app": "web"})


def test_case_37_nodes_without_the_topology_label(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(
            make_node("none"),
            *(make_node(f"r{n}").label("example.com/rack", str(n)) for n in (1, 2)),
        )
        async with rig.scheduler():
            names = [f"web{number}" for number in range(4)]
            rig.add(*map(spread, names))
            await rig.until_bound(*names)
            assert sorted(rig.node_of(name) for name in names) == ["r1", "r1", "r2", "r2"]
            # A label that is taken away takes its domain with it.
            rig.change(
                "nodes", "r2", lambda node: node["metadata"]["labels"].pop("example.com/rack")
            )
            rig.add(spread("web4"))
            await rig.until_bound("web4")
            assert rig.node_of("web4") == "r1"

    on_rig(scenario, tmp_path)


def test_case_37_a_namespace_is_labelled_while_pods_wait_for_it(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.api.store.create("namespaces", {"metadata": {"name": "theirs"}})
        theirs = make_pod("web").label("app", "web").on("a").manifest
        theirs["metadata"]["namespace"] = "theirs"
        rig.api.store.create("pods", theirs)
        async with rig.scheduler():
            chosen = {"matchLabels": {"team": "x"}}
            odd = make_pod("odd")
            odd.manifest["spec"]["affinity"] = pod_affinity(
                {"matchLabels": {"app": "web"}}, namespaceSelector=chosen
            )
            rig.add(odd)
            await rig.until(lambda: rig.condition("odd"))
            rig.change("namespaces", "theirs", lambda ns: ns["metadata"]["labels"].update(team="x"))
            # As in kube-scheduler, that wakes nobody: the pod is looked at again after five minutes.
            await rig.until_bound("odd", within_s=400)

    on_rig(scenario, tmp_path)


def test_case_46_pods_of_others_pods_with_a_node_and_gated_pods(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        gated = make_pod("gated")
        gated.manifest["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        bindings = rig.count("create", "pods/binding")
        async with rig.scheduler() as process:
            rig.add(gated, make_pod("theirs").scheduler("other"), make_pod("set").on("a"))
            rig.add(make_pod("free"))
            await rig.until_bound("free")
            queue = process.scheduler.board.queue
            assert queue.pending()["gated"] == 1
            assert "SchedulingGated" not in rig.notes("FailedScheduling")
            rig.change("pods", "gated", lambda pod: pod["spec"].pop("schedulingGates"))
            await rig.until_bound("gated")
            assert rig.node_of("theirs") == ""
            assert bindings.met == 2
            assert process.scheduler.pods.foreign == {"default/theirs"}

    on_rig(scenario, tmp_path)
