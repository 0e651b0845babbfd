from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.podinfo import HostPort
from bayplan.cluster.ports import PortTable

PORTS = st.lists(
    st.builds(
        HostPort,
        st.sampled_from(["0.0.0.0", "10.0.0.1"]),
        st.sampled_from(["TCP", "UDP"]),
        st.sampled_from([80, 443]),
    ),
    min_size=1,
    max_size=3,
)


@given(st.lists(st.tuples(PORTS, st.integers(0, 2)), max_size=6), st.data())
def test_like_a_list_of_pods(pods: list[tuple[list[HostPort], int]], data: st.DataObject) -> None:
    table, there = PortTable(), list(pods)
    for ports, row in pods:
        table.place(ports, row, +1)
    leaving: list[int] = data.draw(
        st.lists(st.sampled_from(range(len(pods))), unique=True) if pods else st.just([])
    )
    for number in sorted(leaving, reverse=True):
        ports, row = there.pop(number)
        table.place(ports, row, -1)
    held: dict[tuple[str, int], dict[int, Counter[str]]] = {}
    for ports, row in there:
        for ip, protocol, port in ports:
            held.setdefault((protocol, port), {}).setdefault(row, Counter())[ip] += 1
    assert table.snapshot() == held
    for protocol, port in (("TCP", 80), ("UDP", 443), ("SCTP", 80)):
        holders = held.get((protocol, port), {})
        assert {r: set(ips) for r, ips in table.holders(protocol, port).items()} == {
            r: set(ips) for r, ips in holders.items()
        }
    assert len(table.snapshot()) == len(held), "asking leaves nothing behind"
