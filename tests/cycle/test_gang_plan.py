"""Whatever a plan says, a gang is placed whole or not at all, and never where the filters do not want it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.audit import check
from bayplan.cycle.gang import GangPlaced, attempt_gang
from bayplan.cycle.gang_trial import Member
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupTopology
from bayplan.testing import make_cluster, make_desk, make_node, make_pod

LABEL = "scheduling.x-k8s.io/pod-group"
KEY = GroupKey("default", "train")
NODES = ["a-0", "a-1", "b-0", "b-1"]


@given(
    room=st.lists(st.integers(0, 5), min_size=4, max_size=4),
    pods=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    where=st.lists(st.sampled_from([*NODES, "gone", ""]), min_size=5, max_size=5),
    needed=st.integers(1, 5),
    one_rack=st.booleans(),
)
def test_any_plan(
    room: list[int], pods: list[int], where: list[str], needed: int, *, one_rack: bool
) -> None:
    nodes = [
        make_node(name).capacity(cpu=str(cpu)).label("rack", name[0])
        for name, cpu in zip(NODES, room, strict=True)
    ]
    cluster = make_cluster(*nodes)
    desk = make_desk(cluster)
    topology = GroupTopology("rack") if one_rack else None
    group = Group(KEY, GroupApi.COSCHEDULING, min(needed, len(pods)), topology=topology)
    cluster.gangs.put(group)
    members = []
    for number, cpu in enumerate(pods):
        info = cluster.info(
            make_pod(f"w-{number}").label(LABEL, "train").requests(cpu=str(cpu)).build()
        )
        cluster.put_pod(info)
        members.append(Member(info, desk))
    plan = {m.pod.key: node for m, node in zip(members, where, strict=False) if node}

    outcome = attempt_gang(group, members, cluster, plan=plan)

    check(cluster)
    placed = {
        key: cluster.nodes.names[cluster.pods.node_row.data[row]]
        for key, row in cluster.pods.row_of.items()
    }
    if not isinstance(outcome, GangPlaced):
        assert placed == {}
        return
    assert len(placed) == len(outcome.held) >= group.min_member
    if one_rack:
        assert len({node[0] for node in placed.values()}) == 1
    for name, cpu in zip(NODES, room, strict=True):
        taken = [pods[int(key[-1])] for key, node in placed.items() if node == name]
        assert sum(taken) <= cpu
