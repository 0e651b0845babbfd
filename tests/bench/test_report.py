from __future__ import annotations

from dataclasses import replace

from bayplan.bench.costs import Cost
from bayplan.bench.report import as_json, rows, table
from bayplan.bench.trial import Result


def result(
    scheduler: str, pods_per_s: float, *, bound: int = 101, wrong: list[str] | None = None
) -> Result:
    times = [1.0 + i / pods_per_s for i in range(bound)]
    cost = Cost(cpu_s=bound / 1000, rss_mb=50.0)
    return Result(
        workload="basic",
        mode="drain",
        scheduler=scheduler,
        wanted=101,
        bound=bound,
        times=times,
        latencies=times,
        scheduler_cost=cost,
        api_cost=cost,
        wrong=wrong or [],
    )


def test_medians_and_ratios() -> None:
    found = rows(
        [
            *(result("stock", speed) for speed in (40, 50, 60)),
            *(result("ours", speed) for speed in (90, 100, 400)),
            *(result("ceiling", speed) for speed in (120, 125, 130)),
        ]
    )
    stock, ours, ceiling = found
    assert (stock.pods_per_s, stock.ratio_to_stock, stock.share_of_ceiling) == (50.0, 1.0, 0.4)
    assert (ours.pods_per_s, ours.ratio_to_stock, ours.share_of_ceiling) == (100.0, 2.0, 0.8)
    assert ceiling.share_of_ceiling == 1.0
    assert ours.rounds == 3
    assert ours.first_bind_s == 1.0
    assert ours.p50_ms == 1500.0
    assert ours.p99_ms == 1990.0
    assert ours.cpu_us_per_pod == 1000.0
    assert ours.audit == "clean"


def test_the_rate_of_whole_seconds() -> None:
    (row,) = rows([result("ours", 20)])
    assert row.p50_pods_per_s == 20.0


def test_what_went_wrong_is_in_the_row() -> None:
    (row,) = rows([result("ours", 10), result("ours", 10, bound=1, wrong=["a", "b"])])
    assert row.bound == 1
    assert row.audit == "2 wrong: a"
    assert row.ratio_to_stock is None


def test_nothing_bound_at_all() -> None:
    (row,) = rows([result("ours", 10, bound=0)])
    assert (row.pods_per_s, row.p50_pods_per_s, row.p99_ms) == (0.0, 0.0, 0.0)


def test_the_rows_as_json_and_as_a_table() -> None:
    found = rows([result("stock", 50), result("ours", 100)])
    assert as_json(found)[1]["ratio_to_stock"] == 2.0
    assert table(found).row_count == 2


def test_gangs_have_columns_of_their_own() -> None:
    gangs = replace(result("ours", 100), gangs=[1.5, 2.0])
    none = replace(result("stock", 50), gangs=[])
    ours, stock, other = rows([gangs, none, replace(result("list", 50), gangs=None)])
    assert (ours.gangs, ours.first_gang_s, ours.first_gang_to_stock) == (2, 1.5, None)
    assert (stock.gangs, stock.first_gang_s) == (0, None)
    assert (other.gangs, other.first_gang_s) == (None, None)
    again = rows([gangs, replace(none, gangs=[3.0, 4.0])])
    assert [row.first_gang_to_stock for row in again] == [0.5, 1.0]
    assert "first gang s" in [column.header for column in table([ours, other]).columns]
    assert "gangs" not in [column.header for column in table([other]).columns]
