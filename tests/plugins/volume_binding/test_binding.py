"""Writing what was decided about volumes, and waiting until it has come about or somebody backs out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from tests.storage_objects import (
    HOST,
    make_claim,
    make_class,
    make_volume,
    pod_with,
    required,
)

from bayplan.cluster.claims import BOUND_BY_CONTROLLER, SELECTED_NODE
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.volume_decisions import promise
from bayplan.errors import Conflict
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, Code, Rejected
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.plugins.volume_binding import VolumeBinding
from bayplan.testing import make_node
from bayplan.testing.virtual_time import run

K = TypeVar("K", PersistentVolume, PersistentVolumeClaim)


def a_volume(version: str) -> PersistentVolume:
    return make_volume("v", version=version, nodes=required({HOST: ["n"]}))


class World:
    """An API server that refuses or obeys, a handle, and a pod with a claim for an old and one for a new volume."""

    def __init__(self, *deeds: Callable[[World], None], refuse: str = "") -> None:
        """The deeds are what others do while it waits, one thing after the other."""
        self.cluster = Cluster()
        self.view = self.cluster.view
        self.volumes = self
        self.patches: list[tuple[str, Mapping[str, Any]]] = []
        self._deeds = list(deeds)
        self._refuse = refuse
        for obj in (
            make_node("n").build(),
            make_class("wait"),
            a_volume("1"),
            make_claim("old", version="2"),
            make_claim("new", version="3", size="9Gi"),
        ):
            self.cluster.put(obj)
        self.pod = self.cluster.info(pod_with("web", "old", "new"))
        self.plugin = VolumeBinding()
        self.plugin.handle = self  # type: ignore[assignment]  # as much of it as is needed
        self.state = CycleState()

    async def patch_volume(self, name: str, patch: Mapping[str, Any]) -> PersistentVolume:
        volume = self.cluster.storage.volumes.get(name)
        assert volume is not None
        self._note(name, patch)
        return _stored(volume)

    async def patch_claim(
        self, namespace: str, name: str, patch: Mapping[str, Any]
    ) -> PersistentVolumeClaim:
        claim = self.cluster.storage.claims.get(f"{namespace}/{name}")
        assert claim is not None
        self._note(name, patch)
        return _stored(claim)

    def _note(self, name: str, patch: Mapping[str, Any]) -> None:
        if name == self._refuse:
            raise Conflict(409, "Conflict", "the object has been modified")
        self.patches.append((name, patch))

    async def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        assert timeout_s == 600
        while not ready():
            if not self._deeds:
                return False
            self._deeds.pop(0)(self)
        return True

    def bind(self) -> Rejected | None:
        """The whole way from Reserve to the end of PreBind."""
        assert self.plugin.prefilter(self.pod, self.view, self.state) is None
        assert self.plugin.reserve(self.pod, "n", self.state) is None
        self.cluster.assume(self.pod, "n")
        assert self.plugin.preflight(self.pod, "n", self.state) is None
        return run(self.plugin.prebind(self.pod, "n", self.state))


def _stored(obj: K) -> K:
    """As the API server has it after a patch, which the watch has yet to bring."""
    return replace(obj, metadata=replace(obj.metadata, resource_version="8"))


def old_is_bound(world: World) -> None:
    world.cluster.put(promise(a_volume("11"), make_claim("old")))
    world.cluster.put(make_claim("old", volume="v", version="13"))


def new_is_bound(world: World) -> None:
    world.cluster.put(make_volume("made", claim="new", size="9Gi", version="14"))
    selected = {SELECTED_NODE: "n"}
    world.cluster.put(make_claim("new", volume="made", annotations=selected, version="15"))


def test_bound_at_last() -> None:
    world = World(old_is_bound, new_is_bound)
    assert world.bind() is None
    assert world.patches == [
        (
            "v",
            {
                "metadata": {"resourceVersion": "1", "annotations": {BOUND_BY_CONTROLLER: "yes"}},
                "spec": {
                    "claimRef": {
                        "kind": "PersistentVolumeClaim",
                        "apiVersion": "v1",
                        "namespace": "default",
                        "name": "old",
                        "uid": "uid-old",
                        "resourceVersion": "2",
                    }
                },
            },
        ),
        ("new", {"metadata": {"resourceVersion": "3", "annotations": {SELECTED_NODE: "n"}}}),
    ]
    assert world.plugin.preflight(world.pod, "n", world.state) is SKIP


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        pytest.param(
            lambda w: w.cluster.put(
                make_claim("new", version="9", annotations={SELECTED_NODE: ""})
            ),
            'provisioning failed for PVC "new"',
            id="the provisioner gives up",
        ),
        pytest.param(
            lambda w: w.cluster.put(make_claim("new", version="9")),
            'selectedNode annotation reset for PVC "new"',
            id="the annotation is gone",
        ),
        pytest.param(
            lambda w: w.cluster.remove(make_claim("new")),
            'failed to check provisioning pvc: persistentvolumeclaims "default/new" not found',
            id="the claim is gone",
        ),
        pytest.param(
            lambda w: w.cluster.remove_pod("default", "web"),
            'pod does not exist any more: pod "web" not found',
            id="the pod is gone",
        ),
        pytest.param(
            lambda w: w.cluster.remove_node("n"),
            'failed to get node "n": node "n" not found',
            id="the node is gone",
        ),
    ],
)
def test_somebody_backs_out(deed: Callable[[World], None], words: str) -> None:
    world = World(old_is_bound, deed)
    assert world.bind() == Rejected(f"binding volumes: {words}", code=Code.ERROR)


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        pytest.param(
            lambda w: w.cluster.put(make_volume("v", version="9")),
            'ClaimRef got reset for pv "v"',
            id="the promise is taken back",
        ),
        pytest.param(
            lambda w: w.cluster.remove(make_volume("v")),
            'failed to check binding: persistentvolumes "v" not found',
            id="the volume is gone",
        ),
        pytest.param(
            lambda w: w.cluster.remove(make_claim("old")),
            'failed to check binding: persistentvolumeclaims "default/old" not found',
            id="the claim is gone",
        ),
        pytest.param(
            lambda w: w.cluster.put(make_node("n").label(HOST, "renamed").build()),
            'pv "v" node affinity doesn\'t match node "n": no matching NodeSelectorTerms',
            id="the node loses the label by which it reaches the volume",
        ),
    ],
)
def test_somebody_takes_the_old_volume(deed: Callable[[World], None], words: str) -> None:
    assert World(deed, old_is_bound).bind() == Rejected(
        f"binding volumes: {words}", code=Code.ERROR
    )


def test_time_runs_out() -> None:
    out = Rejected("binding volumes: context deadline exceeded", code=Code.ERROR)
    assert World(old_is_bound).bind() == out


@pytest.mark.parametrize("refused", ["v", "new"])
def test_a_patch_that_is_refused_gives_back_what_was_not_written(refused: str) -> None:
    world = World(refuse=refused)
    answer = world.bind()
    assert answer is not None
    assert answer.code is Code.ERROR
    assert "the object has been modified" in answer.message
    claim, volume = (
        world.cluster.storage.claims.get("default/new"),
        world.cluster.storage.volumes.get("v"),
    )
    assert claim is not None
    assert volume is not None
    assert SELECTED_NODE not in claim.annotations
    assert (volume.spec.claim_ref is None) is (refused == "v"), "what was written stands"
