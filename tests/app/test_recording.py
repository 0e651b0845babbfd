from __future__ import annotations

import asyncio
from pathlib import Path

from bayplan.telemetry.decision_files import read_decisions
from bayplan.testing import make_node
from tests.integration.rig import Rig, make_pod, on_rig


def test_a_process_writes_every_decision_to_the_file_of_its_configuration(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_pod("web"))
        async with rig.scheduler(config={"own": {"record": {"file": str(path)}}}):
            await rig.until_bound("web")
            await asyncio.sleep(3)

    on_rig(scenario, tmp_path)
    (record,) = read_decisions(path)
    assert (record["pod"], record["node"], record["result"]) == ("default/web", "a", "scheduled")
