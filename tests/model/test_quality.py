from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.quality import is_guaranteed
from bayplan.testing import make_pod

FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("requests", "limits", "guaranteed"),
    [
        pytest.param(FULL, FULL, True, id="the same"),
        pytest.param({}, FULL, True, id="limits alone are requests too"),
        pytest.param({"cpu": "500m", "memory": "1Gi"}, FULL, False, id="less is requested"),
        pytest.param(FULL, {"cpu": "1"}, False, id="memory without a limit"),
        pytest.param({}, {}, False, id="nothing said"),
    ],
)
def test_limits_that_are_requests(requests: Any, limits: Any, guaranteed: bool) -> None:
    pod = make_pod("p").requests(cpu="1")
    pod.manifest["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": limits}
    assert is_guaranteed(pod.build().spec) is guaranteed
