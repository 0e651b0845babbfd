from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace
from bayplan.policies.tenant_isolation import TenantIsolation
from bayplan.testing import decide, make_cluster, make_node, make_pod

NODES = (
    make_node("red").label("tenant", "red"),
    make_node("shared"),
    make_node("gold").label("tenant-tier", "gold"),
)
ANOTHERS, NOT_IN_POOL = "node(s) belong to another tenant", "node(s) are outside the tenant's pool"
BETTER = "node(s) are kept for a better tier"


def ask(*objects: Any, namespace: dict[str, str] | None = None, **labels: str) -> Any:
    home = decode_as(Namespace, {"metadata": {"name": "default", "labels": namespace or {}}})
    pod = make_pod("p").labels({key.replace("_", "-"): value for key, value in labels.items()})
    args = {"TenantIsolation": {"dedicated": ["green", "red"]}}
    return decide(pod, make_cluster(home, *NODES, *objects), TenantIsolation, args=args)


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        pytest.param({}, [ANOTHERS, "", BETTER], id="nobody's"),
        pytest.param({"tenant": "red"}, ["", NOT_IN_POOL, NOT_IN_POOL], id="with a pool"),
        pytest.param({"tenant": "blue"}, [ANOTHERS, "", BETTER], id="without a pool"),
        pytest.param(
            {"tenant": "blue", "tenant_tier": "gold"}, [ANOTHERS, "", ""], id="of the best tier"
        ),
        pytest.param(
            {"tenant": "blue", "tenant_tier": "lead"}, [ANOTHERS, "", BETTER], id="no such tier"
        ),
    ],
)
def test_who_may_go_where(labels: dict[str, str], why: list[str]) -> None:
    answer = ask(namespace=None, **labels)
    assert [answer.why_not(node.name) for node in NODES] == why


def test_the_namespace_has_the_last_word() -> None:
    answer = ask(namespace={"tenant": "blue"}, tenant="red")
    assert answer.why_not("red") == ANOTHERS
    assert answer.node == "shared"


def test_its_own_nodes_first() -> None:
    answer = ask(make_node("blue").label("tenant", "blue"), tenant="blue")
    assert answer.node == "blue"
    assert [answer.score(n, "TenantIsolation") for n in ("blue", "shared")] == [100, 50]
