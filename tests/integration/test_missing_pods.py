"""Why pods of a Deployment do not exist, asked of an API server that refuses them."""

from __future__ import annotations

from pathlib import Path

import yaml

from bayplan.cli.missing import why_missing
from bayplan.cli.running import Which
from bayplan.testing import make_node
from tests.cli.test_explain import QUOTA, a_deployment
from tests.integration.rig import Rig, make_pod, on_rig


def test_the_quota_of_the_namespace_is_named(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        store = rig.api.store
        rig.add(make_node("a"))
        store.create("resourcequotas", {key: QUOTA[key] for key in ("metadata", "spec")})
        store.create("deployments.apps", a_deployment("shop", 3))
        for name in ("x", "y"):
            rig.add(make_pod(f"shop-{name}").label("app", "shop").requests(cpu="400m"))
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(rig.api.kubeconfig()), encoding="utf-8")
        which = Which(kubeconfig=str(file))
        assert await why_missing(which, "default/shop", rig.clock) == [
            "Deployment default/shop wants 3 pods; 2 exist, 0 of them on nodes; this is about the next one",
            "the API server would refuse it: exceeded quota: compute-resources, "
            "requested: requests.cpu=400m, used: requests.cpu=800m, limited: requests.cpu=1",
            "ResourceQuota compute-resources of namespace default: requests.cpu 800m of 1 used",
        ]
        assert await why_missing(which, "default/nothing", rig.clock) == []

    on_rig(scenario, tmp_path)
