"""What pods ask for and take: sidecars, init containers, overhead, the pod as a whole, resizes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import requests
from bayplan.model.decode import decode
from bayplan.model.pod import Pod

MIB = 1024**2
INT64_MAX = 2**63 - 1


def container(name: str = "c", /, always: bool = False, **amounts: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "resources": {"requests": named(amounts)}}
    return made | ({"restartPolicy": "Always"} if always else {})


def named(amounts: dict[str, str]) -> dict[str, str]:
    """Python's keywords hold no dashes and slashes."""
    return {name.replace("__", "/").replace("_", "-"): q for name, q in amounts.items()}


def pod(*containers: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    made = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "uid": "u"},
            "spec": {"containers": list(containers), **spec},
            "status": status or {},
        }
    )
    assert isinstance(made, Pod)
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(pod(container()), {}, id="nothing asked for"),
        pytest.param(
            pod(container(cpu="250m", memory="1Gi"), container("d", cpu="1")),
            {"cpu": 1250, "memory": 1024 * MIB},
            id="containers add up",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                initContainers=[container("i", cpu="3"), container("j", cpu="2")],
            ),
            {"cpu": 3000},
            id="init containers run one after the other",
        ),
        pytest.param(
            pod(
                container(cpu="3", memory="1"), initContainers=[container("i", cpu="1", memory="2")]
            ),
            {"cpu": 3000, "memory": 2},
            id="each resource by itself",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[container("s", always=True, cpu="500m")]),
            {"cpu": 1500},
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                initContainers=[
                    container("before", cpu="1800m"),
                    container("s", always=True, cpu="500m"),
                    container("after", cpu="1700m"),
                ],
            ),
            {"cpu": 2200},
            id="an init container runs beside the sidecars started before it",
        ),
        pytest.param(
            pod(container(cpu="1"), overhead={"cpu": "100m", "memory": "1Mi"}),
            {"cpu": 1100, "memory": MIB},
            id="overhead is added",
        ),
        pytest.param(
            pod(
                container(cpu="1", memory="1Gi", hugepages_2Mi="2Mi", ephemeral_storage="5"),
                resources={
                    "requests": {"cpu": "500m", "hugepages-2Mi": "8Mi", "ephemeral-storage": "9"}
                },
                overhead={"cpu": "10m"},
            ),
            {
                "cpu": 510,
                "memory": 1024 * MIB,
                "hugepages-2Mi": 8 * MIB,
                "ephemeral-storage": 5,
            },
            id="the pod as a whole outweighs its containers, overhead comes on top",
        ),
        pytest.param(
            pod(container(cpu="1"), resources={"limits": {"cpu": "5"}}),
            {"cpu": 1000},
            id="limits of the pod as a whole say nothing",
        ),
        pytest.param(
            pod(container(cpu="0.5m"), container("d", cpu="0.5m")),
            {"cpu": 1},
            id="sums are rounded once",
        ),
        pytest.param(
            pod(container(cpu="1u", memory="100m")), {"cpu": 1, "memory": 1}, id="rounded up"
        ),
        pytest.param(
            pod(
                container(
                    storage="1",
                    pods="3",
                    requests_cpu="1",
                    nvidia_com__gpu="1",
                )
            ),
            {"nvidia-com/gpu": 1},
            id="names that nobody accounts for are dropped",
        ),
        pytest.param(
            pod(container(memory="8Ei"), container("d", memory="8Ei", cpu="8Ei")),
            {"memory": INT64_MAX, "cpu": INT64_MAX},
            id="huge amounts saturate",
        ),
        pytest.param(
            pod(container(cpu="0", memory="1")),
            {"cpu": 0, "memory": 1},
            id="an explicit zero stays",
        ),
    ],
)
def test_what_filter_asks_for(made: Pod, expected: dict[str, int]) -> None:
    assert requests.for_filter(made.spec) == expected


def reported(
    name: str, actual: dict[str, str] | None, allocated: dict[str, str] | None = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name}
    if actual is not None:
        made["resources"] = {"requests": actual}
    if allocated is not None:
        made["allocatedResources"] = allocated
    return made


INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(
            pod(container(cpu="1"), status={"containerStatuses": [reported("c", {"cpu": "2"})]}),
            {"cpu": 2000},
            id="shrinking: what it still has",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                status={"containerStatuses": [reported("c", {"cpu": "1"}, {"cpu": "3"})]},
            ),
            {"cpu": 3000},
            id="what is set aside for it",
        ),
        pytest.param(
            pod(
                container(cpu="4", memory="1"),
                status={"containerStatuses": [reported("c", {"cpu": "2"}, {"cpu": "3"})]},
            ),
            {"cpu": 4000, "memory": 1},
            id="growing: what it wants",
        ),
        pytest.param(
            pod(
                container(cpu="4"),
                status={
                    "containerStatuses": [reported("c", {"cpu": "2"}, {"cpu": "3"})],
                    "conditions": DEFERRED,
                },
            ),
            {"cpu": 4000},
            id="a deferred resize still counts",
        ),
        pytest.param(
            pod(
                container(cpu="4", memory="7"),
                status={
                    "containerStatuses": [reported("c", {"cpu": "2"}, {"cpu": "3"})],
                    "conditions": INFEASIBLE,
                },
            ),
            {"cpu": 3000},
            id="an infeasible resize does not",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                status={"containerStatuses": [reported("c", None, {"cpu": "3"})]},
            ),
            {"cpu": 1000},
            id="a status without resources says nothing",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                initContainers=[container("i", cpu="2"), container("s", always=True, cpu="1")],
                status={
                    "initContainerStatuses": [
                        reported("i", {"cpu": "9"}),
                        reported("s", {"cpu": "3"}),
                    ]
                },
            ),
            {"cpu": 4000},
            id="sidecars are resized, other init containers are not",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                resources={"requests": {"cpu": "2", "memory": "5"}},
                status={
                    "resources": {"requests": {"cpu": "3"}},
                    "allocatedResources": {"cpu": "1", "memory": "6"},
                },
            ),
            {"cpu": 3000, "memory": 6},
            id="the pod as a whole is resized",
        ),
        pytest.param(
            pod(
                container(cpu="1", memory="9"),
                resources={"requests": {"cpu": "2", "memory": "5"}},
                status={
                    "resources": {"requests": {"cpu": "1"}},
                    "conditions": INFEASIBLE,
                },
            ),
            {"cpu": 1000, "memory": 0},
            id="an infeasible resize of the pod as a whole, with nothing known of memory",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                resources={"requests": {"cpu": "2"}},
                status={"allocatedResources": {"cpu": "9"}},
            ),
            {"cpu": 2000},
            id="a pod without status.resources is not resized",
        ),
    ],
)
def test_what_a_resized_pod_takes(made: Pod, expected: dict[str, int]) -> None:
    assert requests.for_placed(made).requests == expected


@pytest.mark.parametrize(
    ("made", "cpu", "memory"),
    [
        pytest.param(pod(container()), 100, 200 * MIB, id="nothing asked for"),
        pytest.param(pod(container(), container("d")), 200, 400 * MIB, id="for each container"),
        pytest.param(pod(container(cpu="0", memory="0")), 0, 0, id="an explicit zero stays"),
        pytest.param(
            pod(container(cpu="1"), container("d", memory="1")),
            1100,
            200 * MIB + 1,
            id="for each resource",
        ),
        pytest.param(
            pod(container(cpu="1", memory="1"), initContainers=[container("i")]),
            1000,
            200 * MIB,
            id="init containers too",
        ),
        pytest.param(
            pod(container(), resources={"requests": {"cpu": "1"}}),
            1000,
            200 * MIB,
            id="a request of the pod as a whole is not missing",
        ),
        pytest.param(
            pod(container(), resources={"requests": {"cpu": "1"}}, overhead={"memory": "1Mi"}),
            1000,
            MIB,
            id="nor is one that overhead makes",
        ),
        pytest.param(
            pod(container(), container("d", memory="1"), resources={"requests": {"cpu": "1"}}),
            1000,
            1,
            id="nor one of a single container, where the pod as a whole has any",
        ),
        pytest.param(
            pod(container(), overhead={"cpu": "1"}), 1100, 200 * MIB, id="overhead on top"
        ),
    ],
)
def test_what_a_placed_pod_counts_for_in_scoring(made: Pod, cpu: int, memory: int) -> None:
    placed = requests.for_placed(made)
    assert (placed.nonzero_cpu, placed.nonzero_memory) == (cpu, memory)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(pod(container()), {"cpu": 100, "memory": 200 * MIB}, id="defaults"),
        pytest.param(
            pod(container(cpu="1", ephemeral_storage="5"), resources={"requests": {"cpu": "9"}}),
            {"cpu": 1000, "memory": 200 * MIB, "ephemeral-storage": 5},
            id="the pod as a whole is not asked",
        ),
        pytest.param(
            pod(container(cpu="0"), overhead={"memory": "1"}),
            {"cpu": 0, "memory": 200 * MIB + 1},
            id="an explicit zero stays, overhead on top",
        ),
    ],
)
def test_what_an_incoming_pod_counts_for_in_fit_scoring(
    made: Pod, expected: dict[str, int]
) -> None:
    assert requests.for_scoring(made.spec) == expected


@pytest.mark.parametrize(
    ("name", "counted", "extended"),
    [
        ("cpu", True, False),
        ("memory", True, False),
        ("ephemeral-storage", True, False),
        ("hugepages-1Gi", True, False),
        ("attachable-volumes-aws-ebs", True, False),
        ("kubernetes.io/batch-cpu", True, False),
        ("x.kubernetes.io/foo", True, False),
        ("nvidia.com/gpu", True, True),
        ("example.com/" + "x" * 64, False, False),
        ("a/b/c", False, False),
        ("-example.com/foo", False, False),
        ("requests.example.com/foo", False, False),
        ("pods", False, False),
        ("storage", False, False),
        ("gpu", False, False),
        ("", False, False),
    ],
)
def test_which_names_are_accounted_for(name: str, counted: bool, extended: bool) -> None:
    assert requests.is_counted(name) is counted
    assert requests.is_extended(name) is extended


quantities = st.sampled_from(["0", "1", "2", "250m", "1500u", "1Ki"])
amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/foo"]), quantities)


@given(wanted=amounts, actual=amounts, allocated=amounts, infeasible=st.booleans())
def test_the_key_tells_pods_apart_that_take_different_amounts(
    wanted: dict[str, str], actual: dict[str, str], allocated: dict[str, str], infeasible: bool
) -> None:
    made = pod(
        {"name": "c", "resources": {"requests": wanted}},
        status={
            "containerStatuses": [reported("c", actual, allocated)],
            "conditions": INFEASIBLE if infeasible else [],
        },
    )
    plain = pod({"name": "c", "resources": {"requests": wanted}})
    if not requests.placed_key(made):
        assert requests.for_placed(made) == requests.for_placed(plain)
    if requests.for_placed(made) != requests.for_placed(plain):
        assert requests.placed_key(made)


def test_a_pod_that_runs_as_specified_is_like_one_that_does_not_run() -> None:
    running = pod(
        container(cpu="1", memory="1Gi"),
        status={
            "containerStatuses": [
                reported("c", {"cpu": "1000m", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"})
            ]
        },
    )
    assert requests.placed_key(running) == b""


def test_what_is_reported_differently_but_counts_the_same_shares_a_key() -> None:
    first, second = (
        pod(container(cpu="1"), status={"containerStatuses": [reported("c", {"cpu": amount})]})
        for amount in ("2", "2000m")
    )
    assert requests.placed_key(first) == requests.placed_key(second) != b""
