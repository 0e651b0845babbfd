"""Patches on two API servers, the embedded one and the real one: the same requests, and the same comes of them.

Every answer is compared: the object with its managed fields, or the refusal with its code and message. What each server
makes up for itself (uids, versions, times) is left out.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from bayplan.embedded.server import EmbeddedApi
from bayplan.errors import ApiError
from bayplan.testing.control_plane import Api, Binaries, ControlPlane

pytestmark = pytest.mark.e2e

Obj = dict[str, Any]

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
HEAD: Final[Obj] = {"apiVersion": "apps/v1", "kind": "Deployment"}
#: Left to each server; ``generation`` counts annotations of Deployments on the real one.
OWN: Final = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "time",
    "lastTransitionTime",
    "generation",
}
SEEDS: Final = (1, 2, 3)
STEPS: Final = 60


@contextmanager
def embedded() -> Iterator[http.client.HTTPConnection]:
    """The embedded server in a thread of its own, and a connection to it."""
    ready, stop = threading.Event(), asyncio.Event()
    where: list[Any] = []

    async def serve() -> None:
        async with EmbeddedApi() as api:
            where.extend((api.url, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    address = urlsplit(where[0])
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    try:
        yield connection
    finally:
        connection.close()
        where[1].call_soon_threadsafe(stop.set)
        thread.join(30)


class Both:
    """Two servers that are asked the same."""

    def __init__(self, real: Api, other: http.client.HTTPConnection) -> None:
        self._real = real
        self._other = other

    def ask(self, method: str, path: str, body: Obj, content_type: str) -> Obj | None:
        """The object that both answer with; None where both refuse."""
        headers = {"Content-Type": content_type, "Accept": JSON}
        self._other.request(method, path, json.dumps(body), headers)
        response = self._other.getresponse()
        mine = json.loads(response.read())
        try:
            theirs = self._real.call(method, path, body, content_type)
        except ApiError as refusal:
            said = (refusal.status, refusal.message)
            assert (response.status, mine.get("message")) == said, f"{method} {path} {body}"
            return None
        assert bare(mine) == bare(theirs), f"{method} {path} {json.dumps(body)}"
        found: Obj = theirs
        return found


def bare(value: Any) -> Any:
    """An answer without what each server makes up for itself."""
    if isinstance(value, dict):
        return {name: bare(one) for name, one in value.items() if name not in OWN}
    if isinstance(value, list):
        items = [bare(one) for one in value]
        if items and isinstance(items[0], dict) and "fieldsV1" in items[0]:
            # They are in order of time, which is not ours to compare.
            items.sort(key=lambda one: (one["manager"], one["operation"]))
        return items
    return value


class Author:
    """Thinks of Deployments and of patches to them."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)

    def some(self, letters: str, most: int, least: int = 0) -> list[str]:
        return self.dice.sample(letters, self.dice.randint(least, most))

    def maybe(self, chance: float) -> bool:
        return self.dice.random() < chance

    def metadata(self) -> Obj:
        meta: Obj = {"name": "web"}
        if self.maybe(0.5):
            meta["labels"] = {key: self.dice.choice("12") for key in self.some("xyz", 3)}
        if self.maybe(0.3):
            meta["annotations"] = {key: self.dice.choice("12") for key in self.some("xyz", 3, 1)}
        return meta

    def container(self, name: str, *, image: bool) -> Obj:
        made: Obj = {"name": name}
        if image or self.maybe(0.7):
            made["image"] = self.dice.choice(["x:1", "x:2", "y"])
        if self.maybe(0.5):
            made["env"] = [
                {"name": name, "value": self.dice.choice("12")} for name in self.some("ABCD", 3)
            ]
        if self.maybe(0.4):
            made["ports"] = [
                {"containerPort": 80 + int(port)}
                | ({"name": f"p{port}"} if self.maybe(0.5) else {})
                for port in self.some("012", 2)
            ]
        if self.maybe(0.3):
            made["resources"] = {"requests": {self.dice.choice(["cpu", "memory"]): "1"}}
        return made

    def containers(self, *, image: bool) -> list[Obj]:
        return [self.container(name, image=image) for name in self.some("abcd", 3, 1)]

    def spec(self, *, whole: bool) -> Obj:
        pod: Obj = {"containers": self.containers(image=True)}
        if self.maybe(0.5):
            pod["tolerations"] = [{"key": self.dice.choice("ab"), "operator": "Exists"}]
        if self.maybe(0.5):
            pod["nodeSelector"] = {self.dice.choice("ab"): self.dice.choice("12")}
        if self.maybe(0.4):
            pod["volumes"] = [{"name": name, "emptyDir": {}} for name in self.some("vw", 2, 1)]
        labels = {key: self.dice.choice("12") for key in self.some("lmn", 2)}
        made: Obj = {}
        if whole or self.maybe(0.7):
            made["template"] = {"metadata": {"labels": {"app": "web", **labels}}, "spec": pod}
        if whole:
            made["selector"] = {"matchLabels": {"app": "web"}}
        if self.maybe(0.5):
            made["replicas"] = self.dice.choice([0, 1, 2])
        if self.maybe(0.3):
            made["minReadySeconds"] = self.dice.choice([0, 3])
        return made

    def strategic(self) -> Obj:
        containers = self.containers(image=False)
        for one in containers:
            used = [variable["name"] for variable in one.get("env", [])]
            if self.maybe(0.2):
                one.clear()
                one |= {"name": self.dice.choice("abcd"), "$patch": "delete"}
            elif used and self.maybe(0.3):
                free = [name for name in "ABCD" if name not in used]
                one["env"].append({"name": self.dice.choice(free), "$patch": "delete"})
        pod: Obj = {"containers": list({one["name"]: one for one in containers}.values())}
        if self.maybe(0.4):
            names = self.some("abcd", 4, 2)
            pod["$setElementOrder/containers"] = [{"name": name} for name in names]
        if self.maybe(0.2):
            pod["nodeSelector"] = self.dice.choice(
                [None, {"$patch": "replace", "z": "1"}, {"a": None}]
            )
        if self.maybe(0.2):
            pod["tolerations"] = self.dice.choice([None, [], [{"key": "z", "operator": "Exists"}]])
        labels = {self.dice.choice("xyz"): self.dice.choice(["1", None])}
        return {"metadata": {"labels": labels}, "spec": {"template": {"spec": pod}}}

    def request(self) -> tuple[str, str, Obj, str]:
        """Method, path, body and its type."""
        path = f"{DEPLOYMENTS}/web?fieldManager=m{self.dice.randint(1, 3)}"
        kind = self.dice.random()
        if kind < 0.5:
            config = HEAD | {"metadata": self.metadata(), "spec": self.spec(whole=self.maybe(0.5))}
            force = "&force=true" if self.maybe(0.7) else ""
            return "PATCH", path + force, config, APPLY
        if kind < 0.8:
            return "PATCH", path, self.strategic(), STRATEGIC
        if kind < 0.9:
            body = {"metadata": self.metadata(), "spec": self.spec(whole=False)}
            return "PATCH", path, body, MERGE
        return (
            "PUT",
            path,
            HEAD | {"metadata": {"name": "web"}, "spec": self.spec(whole=True)},
            JSON,
        )


def test_the_same_comes_of_the_same_patches(tmp_path: Path, binaries: Binaries) -> None:
    with ControlPlane(tmp_path, binaries) as plane, embedded() as connection:
        both = Both(plane.admin, connection)
        for seed in SEEDS:
            author = Author(seed)
            first = HEAD | {"metadata": {"name": "web"}, "spec": author.spec(whole=True)}
            assert both.ask("POST", f"{DEPLOYMENTS}?fieldManager=m0", first, JSON)
            came_about = sum(both.ask(*author.request()) is not None for _ in range(STEPS))
            # Else it would be refusals that are compared.
            assert came_about > STEPS / 3
            path = f"{DEPLOYMENTS}/web"
            both.ask("DELETE", path, {"propagationPolicy": "Background"}, JSON)
