"""Workloads, nodes and pods come and go at random: nobody stumbles, and in the end nothing is left over."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from bayplan.embedded.agents.fleet import Fleet
from bayplan.embedded.agents.pods import PodAgents
from bayplan.embedded.controllers.garbage import Garbage
from bayplan.embedded.controllers.pod_notes import PodNotes
from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.nodes.making import make_node
from bayplan.embedded.nodes.shape import Group, of_count
from bayplan.embedded.objects import Object
from bayplan.errors import RequestRefused
from tests.embedded.cluster.world import POD_SPEC, TEMPLATE, World, lives

WORKLOADS = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch")


class Chance:
    """Does something at random, as users and schedulers do."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.dice = Random(seed)
        self.made = 0

    def step(self) -> None:
        acts = (self.create, self.change, self.delete, self.kill, self.bind, self.bind, self.flap)
        try:
            self.dice.choice(acts)()
        except RequestRefused as refusal:
            # Others were faster, as it happens.
            assert refusal.code in (404, 409)  # noqa: PT017

    def any_of(self, resource: str) -> str | None:
        names = [one["metadata"]["name"] for one in self.world.store.list(resource)]
        return self.dice.choice(names) if names else None

    def create(self) -> None:
        self.made += 1
        resource, name = self.dice.choice(WORKLOADS), f"w{self.made}"
        labels = {"app": name}
        template = TEMPLATE | {"metadata": {"labels": labels}}
        spec: Object = {"replicas": self.dice.randint(0, 4), "selector": {"matchLabels": labels}}
        if resource == "jobs.batch":
            template = {"spec": POD_SPEC | {"restartPolicy": "Never"}}
            spec = {"completions": self.dice.randint(1, 4), "parallelism": 2}
        if resource == "statefulsets.apps":
            claim = {
                "resources": {"requests": {"storage": "1Gi"}},
                "accessModes": ["ReadWriteOnce"],
            }
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
            spec["serviceName"] = name
        self.world.create(resource, name, spec=spec | {"template": template})

    def change(self) -> None:
        resource = self.dice.choice(WORKLOADS[:3])
        name = self.any_of(resource)
        if name is None:
            return
        self.world.scale(resource, name, replicas=self.dice.randint(0, 4))
        if resource == "deployments.apps" and self.dice.random() < 0.5:
            template = self.world.get(resource, name)["spec"]["template"]
            template["spec"]["containers"][0]["image"] = f"app:{self.dice.randint(1, 3)}"
            self.world.scale(resource, name, template=template)

    def delete(self) -> None:
        resource = self.dice.choice(WORKLOADS)
        name = self.any_of(resource)
        if name is not None:
            how = self.dice.choice(("Foreground", "Background", ""))
            self.world.store.delete(resource, name, "default", DeleteOptions(propagation=how))

    def kill(self) -> None:
        name = self.any_of("pods")
        if name is not None:
            grace_s = self.dice.choice((None, 0, 5))
            self.world.store.delete("pods", name, "default", DeleteOptions(grace_s=grace_s))

    def bind(self) -> None:
        node = self.any_of("nodes")
        for pod in self.world.pods():
            if node is not None and not pod["spec"].get("nodeName"):
                self.world.bind(pod["metadata"]["name"], node)
                return

    def flap(self) -> None:
        name = f"node-{self.dice.randint(1, 3)}"
        if self.world.gone("nodes", name):
            now_s = self.world.store.clock.now()
            self.world.store.create("nodes", make_node(name, Group(1), 1, "zone-a", now_s))
        elif self.dice.random() < 0.3:
            self.world.store.delete("nodes", name)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_left_over(seed: int) -> None:
    async def test(world: World) -> None:
        trouble: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: trouble.append(what))
        world.create(
            "poddisruptionbudgets.policy", "all", spec={"selector": {}, "minAvailable": "50%"}
        )
        chance = Chance(world, seed)
        for _ in range(300):
            chance.step()
            await world.settle(chance.dice.choice((0.01, 0.05, 0.5)))
        for resource in (*WORKLOADS, "persistentvolumeclaims"):
            for one in world.store.list(resource, "default"):
                world.store.delete(resource, one["metadata"]["name"], "default")
        for node in world.store.list("nodes"):
            world.store.delete("nodes", node["metadata"]["name"])
        await world.settle(120)
        assert trouble == []
        for resource in (*WORKLOADS, "pods", "persistentvolumes", "leases.coordination.k8s.io"):
            assert [one["metadata"]["name"] for one in world.store.list(resource)] == []
        for part in world.parts:
            match part:
                case Fleet():
                    assert len(part) == 0
                case PodAgents():
                    assert (part._next, part._settled) == ({}, set())
                case Garbage():
                    assert (part._dependents, part._owners, part._waiting) == ({}, {}, {})
                case PodNotes():
                    assert part._by_owner == {}
                case _:
                    pass

    lives(test, of_count(3))
