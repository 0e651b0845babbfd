"""What an end-to-end test plays on: a control plane, kubelets that keep up appearances, and schedulers.

At the end the audit looks at what came of it, whatever the test itself looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bayplan.errors import BinariesMissing, TimedOut
from bayplan.testing import NodeBuilder, PodBuilder, make_node, make_pod
from bayplan.testing.control_plane import Binaries, ControlPlane, History, Obj, ServiceAccount
from bayplan.testing.control_plane.ports import LOOPBACK, Port
from tests.deploy import containers
from tests.deploy.chart import RIGHTS, Rendered, one_scheduler
from tests.e2e.audit import audit
from tests.e2e.kubelets import Kubelets
from tests.e2e.roles import documented
from tests.e2e.subjects import Running, Subject, stock_command

#: The profile that tests use unless they are about profiles.
PROFILE = "bayplan"

#: Short, so that a takeover takes seconds; the proportions are those of the defaults.
LEASE = {
    "leaderElect": True,
    "leaseDuration": "3s",
    "renewDeadline": "2s",
    "retryPeriod": "500ms",
    "resourceLock": "leases",
    "resourceNamespace": "kube-system",
}


class Stage:
    """One cluster, seen through the watch on its pods."""

    def __init__(self, plane: ControlPlane, pods: History, subject: Subject) -> None:
        self.plane = plane
        self.pods = pods
        self.subject = subject
        #: Pods that nobody is to place, by ``namespace/name``; the audit takes every other one for lost if it waits.
        self.may_wait: set[str] = set()
        self.schedulers: list[Running] = []
        #: Whether several schedulers want the same pods and have no lease to settle it.
        self.rivals = False
        self._accounts: dict[str, ServiceAccount] = {}

    def need(self, program: str) -> None:
        """Skip the test where the control plane has no such program: envtest's assets have neither scheduler nor controllers."""
        try:
            self.plane.binaries.path(program)
        except BinariesMissing as missing:
            pytest.skip(str(missing))

    # Schedulers -----------------------------------------------------------------------------------------------------------

    def start_scheduler(
        self,
        name: str = "scheduler",
        *,
        profiles: Sequence[Mapping[str, Any]] = ({"schedulerName": PROFILE},),
        elect: bool = False,
        login: Path | None = None,
        subject: Subject | None = None,
        extenders: Sequence[Mapping[str, Any]] = (),
        own: Mapping[str, Any] | None = None,
        values: Mapping[str, Any] | None = None,
        lease: str = "bayplan-e2e",
    ) -> Running:
        """Start the scheduler under test, ours as the chart would; does not wait until it is ready.

        Without a ``login`` it is the service account that the chart makes for it, with the rights that go with what is configured.
        ``own``: the fields of a BayplanConfiguration, which kube-scheduler has not got. ``values``: further values of the chart.
        """
        plane = self.plane
        subject = subject or self.subject
        admin = plane.user(f"admin-{name}", ["system:masters"])
        configuration = {
            "leaderElection": LEASE | {"resourceName": lease} if elect else {"leaderElect": False},
            "profiles": [dict(profile) for profile in profiles],
            "extenders": [dict(extender) for extender in extenders],
        }
        with contextlib.closing(Port()) as free:
            port = free.number
        if subject == "bayplan":
            chart = one_scheduler(
                name=name,
                configuration=configuration,
                bayplan=dict(own or {}),
                bindAddress=LOOPBACK,
                securePort=port,
                **(values or {}),
            )
            login = login or self._admit(name, chart)
            words = containers.command(chart, name, plane.folder / name, login)
        else:
            self.need(subject)
            login = login or admin.kubeconfig
            words = stock_command(plane, name, configuration, login, port)
        process = plane.start(name, words)
        running = Running(name, subject, process, port, admin.certificate, admin.key)
        self.schedulers.append(running)
        return running

    def start_container(
        self, chart: Rendered, name: str, namespace: str = "kube-system"
    ) -> Running:
        """Start a container of what is installed already, as a kubelet would; on a port of its own on loopback, like all here."""
        plane = self.plane
        admin = plane.user(f"admin-{name}", ["system:masters"])
        login = plane.service_account(name, namespace).kubeconfig
        with contextlib.closing(Port()) as free:
            port = free.number
        words = containers.command(chart, name, plane.folder / name, login)
        words += [f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
        process = plane.start(name, words)
        running = Running(name, "bayplan", process, port, admin.certificate, admin.key)
        self.schedulers.append(running)
        return running

    def _admit(self, name: str, chart: Rendered) -> Path:
        """The login of the service account that the chart makes for this scheduler."""
        if name not in self._accounts:
            self.add(*chart.of_kind(*RIGHTS))
            self._accounts[name] = self.plane.service_account(name)
        return self._accounts[name].kubeconfig

    def account(self, role: Sequence[Obj] | None = None) -> ServiceAccount:
        """The service account of the chart as it comes, with its rights or with those of another ``role``."""
        if "bayplan" not in self._accounts:
            self.add(*(role or documented()))
            self._accounts["bayplan"] = self.plane.service_account("bayplan")
        return self._accounts["bayplan"]

    def audit(self) -> list[str]:
        """What is wrong with what came of it, asked of the schedulers that still run as well."""
        running = [scheduler for scheduler in self.schedulers if scheduler.process.running]
        return audit(self.plane.admin, self.pods.events, running, self.may_wait, rivals=self.rivals)

    # Objects --------------------------------------------------------------------------------------------------------------

    def add(self, *things: NodeBuilder | PodBuilder | Obj) -> None:
        for thing in things:
            self.plane.admin.create(thing if isinstance(thing, dict) else thing.manifest)

    def node_of(self, key: str) -> str:
        """Where the pod is; empty while it waits."""
        return node_of(self.pods.objects[key])

    def wait_bound(self, *keys: str, timeout_s: float = 60.0) -> dict[str, str]:
        """Wait until these pods are bound; which one is where."""
        missing: list[str] = []

        def bound(objects: dict[str, Obj]) -> bool:
            missing[:] = [key for key in keys if key not in objects or not node_of(objects[key])]
            return not missing

        found = self._wait(bound, f"node for {', '.join(keys[:5])}", missing, timeout_s)
        return {key: node_of(found[key]) for key in keys}

    def wait_some_bound(self, number: int, timeout_s: float = 60.0) -> None:
        """Wait until so many pods are bound, no matter which."""
        self.pods.wait(
            lambda objects: sum(bool(node_of(obj)) for obj in objects.values()) >= number,
            f"{number} bound pods",
            timeout_s,
        )

    def wait_refused(self, key: str, saying: str = "", timeout_s: float = 60.0) -> str:
        """Wait until the pod's condition says that it cannot be scheduled, and ``saying`` why; the message."""

        def refused(objects: dict[str, Obj]) -> bool:
            condition = scheduled(objects.get(key, {}))
            return condition.get("status") == "False" and saying in condition["message"]

        found = self.pods.wait(refused, f"condition that refuses {key}: {saying}", timeout_s)
        message: str = scheduled(found[key])["message"]
        return message

    def wait_gone(self, *keys: str, timeout_s: float = 60.0) -> None:
        self.pods.wait(lambda objects: not objects.keys() & set(keys), f"end of {keys}", timeout_s)

    def _wait(
        self,
        condition: Callable[[dict[str, Obj]], bool],
        what: str,
        missing: list[str],
        timeout_s: float,
    ) -> dict[str, Obj]:
        try:
            return self.pods.wait(condition, what, timeout_s)
        except TimedOut as late:
            late.add_note(f"still missing {len(missing)}: {missing[:10]}")
            raise

    def events(self, key: str, reason: str) -> list[Obj]:
        """The Events of this reason about a pod."""
        namespace, name = key.split("/")
        found = self.plane.admin.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
        return [
            event
            for event in found
            if event.get("reason") == reason and event["regarding"].get("name") == name
        ]

    def wait_event(self, key: str, reason: str) -> str:
        """Wait for an Event about a pod; what it says."""
        namespace, name = key.split("/")
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"

        def matching(objects: dict[str, Obj]) -> list[Obj]:
            return [
                event
                for event in objects.values()
                if event.get("reason") == reason and event["regarding"].get("name") == name
            ]

        with History(self.plane.admin, path) as history:
            note: str = matching(history.wait(matching, f"{reason} about {key}"))[0]["note"]
            return note


@contextlib.contextmanager
def open_stage(
    folder: Path, binaries: Binaries, subject: Subject, api_flags: Sequence[str] = ()
) -> Iterator[Stage]:
    """A fresh cluster without nodes; audited at the end, unless the test has failed already."""
    with (
        ControlPlane(folder, binaries, api_flags=api_flags) as plane,
        History(plane.admin, "/api/v1/pods") as pods,
        Kubelets(plane.admin, pods),
    ):
        stage = Stage(plane, pods, subject)
        yield stage
        wrong = stage.audit()
        assert not wrong, "the audit found:\n" + "\n".join(wrong)


def node(name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "110") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory=memory, pods=pods)


def pod(name: str, namespace: str = "default", scheduler: str = PROFILE) -> PodBuilder:
    return make_pod(name, namespace).image("none").scheduler(scheduler)


def namespace(name: str, **labels: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def node_of(obj: Obj) -> str:
    found: str = obj["spec"].get("nodeName", "")
    return found


def scheduled(obj: Obj) -> Obj:
    """The condition PodScheduled; empty while there is none."""
    for condition in obj.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled":
            found: Obj = condition
            return found
    return {}
