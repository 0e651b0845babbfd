"""The three ways to write a pod group, as kubectl meets them on an embedded cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from tests.embedded.api.test_kubectl import Kubectl, rows
from tests.seeds.test_seeds import DATA

from bayplan.embedded.customs import SHELF
from bayplan.embedded.definitions import definition_files, definitions, install
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.errors import RequestRefused
from bayplan.testing.control_plane import Binaries

NATIVE = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: train}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
"""


def with_kubectl(
    binaries: Binaries, folder: Path, work: Callable[[Kubectl], Awaitable[None]]
) -> None:
    async def main() -> None:
        async with EmbeddedApi(EmbeddedOptions(rng=Random(1))) as api:
            install(api.store)
            config = api.write_kubeconfig(folder / "kubeconfig")
            await work(Kubectl(api, binaries.path("kubectl"), config))

    asyncio.run(main())


@pytest.mark.slow
def test_kubectl_and_the_form_of_the_seeds(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        await kubectl.good("apply", "-f", str(DATA / "001-line-0215.yaml"))
        # One object under two names: what the scheduler writes to one is read by whoever asks for the other.
        for resource in ("podgroups.v1alpha1.scheduling.k8s.io", "podgroups.scheduling.x-k8s.io"):
            await kubectl.good(
                "patch",
                resource,
                "nginx-group",
                "--subresource=status",
                "--type=merge",
                "-p",
                '{"status":{"phase":"Running","running":3}}',
            )
            printed = rows(await kubectl.good("get", resource))
            assert printed[0] == [
                "NAME",
                "PHASE",
                "MINMEMBER",
                "RUNNING",
                "SUCCEEDED",
                "FAILED",
                "AGE",
            ]
            assert printed[1][:4] == ["nginx-group", "Running", "3", "3"]
        assert rows(await kubectl.good("get", "pg"))[1][0] == "nginx-group"
        # Who applies the definitions all the same, as on any cluster, changes nothing.
        applied = await kubectl.good("apply", "--server-side", "-f", str(definition_files()))
        assert applied.count("serverside-applied") == len(definitions())
        assert rows(await kubectl.good("get", "pg"))[1][0] == "nginx-group"

    with_kubectl(binaries, tmp_path, work)


@pytest.mark.slow
def test_kubectl_and_the_native_form(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        await kubectl.good("apply", "-f", "-", stdin=NATIVE)
        heads, train = rows(await kubectl.good("get", "podgroups.scheduling.k8s.io"))
        assert heads == ["NAME", "POLICY", "WORKLOAD", "STATUS", "AGE"]
        assert train[:-1] == ["train", "Gang", "<none>", "Pending"]
        assert "gang" in await kubectl.good(
            "explain", "podgroup.spec.schedulingPolicy", "--api-version=scheduling.k8s.io/v1alpha2"
        )

    with_kubectl(binaries, tmp_path, work)


@pytest.fixture
def api() -> EmbeddedApi:
    server = EmbeddedApi()
    server.load()
    return server


def group(version: str, least: int = 3) -> dict[str, object]:
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": least},
    }


def test_definitions_are_established_and_a_second_time_changes_nothing(api: EmbeddedApi) -> None:
    install(api.store)
    version = api.store.shelves.version
    install(api.store)
    assert api.store.shelves.version == version
    for name in (one["metadata"]["name"] for one in definitions()):
        conditions = api.store.entry(SHELF, name).decode()["status"]["conditions"]
        assert {one["status"] for one in conditions} == {"True"}


def test_without_them_only_the_native_form_is_served(api: EmbeddedApi) -> None:
    kinds = api.store.kinds
    assert kinds.of("scheduling.k8s.io/v1alpha2", "PodGroup") is not None
    assert kinds.of("scheduling.k8s.io/v1alpha1", "PodGroup") is None
    assert kinds.of("scheduling.x-k8s.io/v1alpha1", "PodGroup") is None


def test_the_two_forms_of_the_plugin_are_the_same_objects(api: EmbeddedApi) -> None:
    install(api.store)
    former = api.store.kinds.of("scheduling.k8s.io/v1alpha1", "PodGroup")
    assert former is not None
    api.store.create(former, group("scheduling.k8s.io/v1alpha1"), "default")
    found = api.store.entry("podgroups.scheduling.x-k8s.io", "g", "default").decode()
    assert found["spec"] == {"minMember": 3}
    # The native groups are others, and keep the name of the resource.
    native = api.store.kinds.named("podgroups.scheduling.k8s.io")
    assert native is not None
    assert native.version == "v1alpha2"
    assert api.store.find(native, "g", "default") is None


@pytest.mark.parametrize("version", ["scheduling.k8s.io/v1alpha1", "scheduling.x-k8s.io/v1alpha1"])
def test_a_group_of_nobody_is_refused(api: EmbeddedApi, version: str) -> None:
    install(api.store)
    kind = api.store.kinds.of(version, "PodGroup")
    assert kind is not None
    with pytest.raises(RequestRefused, match="should be greater than or equal to 1"):
        api.store.create(kind, group(version, least=0), "default")
