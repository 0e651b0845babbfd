"""What the process makes of what the chart gives it: the configuration that it loads, and the rights that it asks for."""

from __future__ import annotations

from pathlib import Path

from bayplan.app.assembly import Surroundings, assemble
from bayplan.app.coordinating import lease_rights
from bayplan.app.options import configure
from bayplan.cli.flags import options_of, remarks
from bayplan.cli.run import run
from bayplan.framework.config import Configuration
from bayplan.framework.registry import Registry
from bayplan.runtime.permissions import Right, for_groups, needed
from bayplan.telemetry.metrics import Metrics
from bayplan.testing.virtual_time import VirtualClock
from tests.deploy.chart import Rendered
from tests.deploy.containers import command
from tests.runtime.sent import Sent

#: Namespace (empty: all), API group, resource, verb, name (empty: any).
Granted = set[tuple[str, str, str, str, str]]


def configured(chart: Rendered, name: str, folder: Path) -> Configuration:
    """What the scheduler of this name loads, by its container's command line and its files, without a remark."""
    return _loaded(chart, name, folder)[0]


def _loaded(chart: Rendered, name: str, folder: Path) -> tuple[Configuration, Registry]:
    words = command(chart, name, folder, Path("none"))
    with run.make_context("bayplan run", words[words.index("run") + 1 :]) as context:
        assert not list(remarks(context.params))
        return configure(options_of(context.params))


def asked(chart: Rendered, name: str, folder: Path) -> Granted:
    """The rights without which the scheduler is not ready."""
    config, registry = _loaded(chart, name, folder)
    clock = VirtualClock()
    around = Surroundings(
        api=Sent(),
        clock=clock,
        metrics=Metrics(),
        hostname="here",
        seed=1,
    )
    feeds = assemble(config, registry, around).feeds
    watched = [feed.resource for feed in feeds]
    election = config.leader_election
    lease = (election.resource_namespace, election.resource_name)
    rights = [
        *needed(watched, lease if election.leader_elect else None, writes=True),
        *(right for feed in feeds if feed.on_served for right in for_groups(feed.resource)),
        *lease_rights(config),
    ]
    return {(r.namespace, r.group, _kind(r), r.verb, r.name) for r in rights}


def _kind(right: Right) -> str:
    return f"{right.resource}/{right.subresource}" if right.subresource else right.resource


def granted(chart: Rendered, name: str = "bayplan") -> Granted:
    """What the roles of a scheduler's account allow, but for looking at who asks for its pages."""
    bound = {
        (binding["roleRef"]["kind"], binding["roleRef"]["name"])
        for binding in chart.of_kind("ClusterRoleBinding", "RoleBinding")
        if binding["subjects"][0]["name"] == name
    }
    return {
        (role["metadata"].get("namespace", ""), group, resource, verb, one)
        for role in chart.of_kind("ClusterRole", "Role")
        if (role["kind"], role["metadata"]["name"]) in bound
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for one in rule.get("resourceNames", [""])
    }
