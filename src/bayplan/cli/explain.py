"""``bayplan explain``: why a pod goes where it goes, or nowhere, and what would make it fit.

Asked of the running scheduler, which remembers (``cli.story``), or from files alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from bayplan.cli.running import Which, running_options
from bayplan.cli.story import tell
from bayplan.errors import BayplanError
from bayplan.framework.config import Configuration, default_config, load_config, load_config_objects
from bayplan.framework.config.document import read_documents
from bayplan.framework.registry import Registry
from bayplan.model.pod import Pod
from bayplan.sim import explanation as explaining
from bayplan.sim.dump import STDIN, SUFFIXES, Dump, read_dump
from bayplan.sim.explanation_json import to_json
from bayplan.sim.manifest import DEFAULT_NAMESPACE, admitted, read_pod
from bayplan.sim.missing_pods import how_many, next_pod
from bayplan.sim.resource_quotas import refusals, standing
from bayplan.sim.saving import case_of, config_documents
from bayplan.sim.situation import Situation

#: Of more things that are wrong with a dump only the number is told.
_TROUBLES_TOLD: Final = 10


@click.command(short_help="Say why a pod goes where it goes, or nowhere.")
@click.argument("pod", metavar="NS/NAME|POD.yaml")
@click.option(
    "--cluster",
    "dump_path",
    default=None,
    metavar="DUMP",
    type=click.Path(path_type=Path),
    help="A file or a directory with the cluster's objects; - for standard input. Else the running scheduler is asked.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="A KubeSchedulerConfiguration.",
    metavar="FILE",
)
@click.option(
    "--plugin-dir",
    "plugin_dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A directory whose *.py files hold plugins. May be given several times.",
)
@click.option(
    "--node", default="", help="Look closely at one node: why not there, what would help?"
)
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the decision as a case that bayplan evaluate replays.",
)
@click.option("--seed", default=0, show_default=True, help="Draws among equally good nodes.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json"]),
    default="table",
    show_default=True,
    help="wide: all nodes, with raw scores.",
)
@running_options
def explain(  # noqa: PLR0913 - click hands over one argument per option
    *,
    pod: str,
    dump_path: Path | None,
    config: Path | None,
    plugin_dirs: tuple[Path, ...],
    node: str,
    save: Path | None,
    seed: int,
    output: str,
    **given: Any,
) -> None:
    """Say why a pod goes where it goes, or nowhere, and what would make it fit.

    The running scheduler is found by its lease and asked: it knows the pod's way through the queue, every attempt,
    and tells the last one as it was. The kubeconfig says which cluster, and who asks; that takes the right to get
    leases and the nonResourceURL /debug/decisions/*.

    With --cluster nobody is asked: the decision is made here, from a dump, which is what kubectl prints with
    "kubectl get nodes,pods,namespaces,pv,pvc,sc,csinodes,pdb -A -o json". The pod then is one of the dump (NS/NAME;
    without NS that of the namespace "default"), pending or placed, or one in a file of its own; of a Deployment, a
    ReplicaSet or a StatefulSet it is the next one, with what the ResourceQuotas in the dump have against it. A placed pod is looked
    at as if it were not there yet.

    The exit status is 1 if something cannot be read. A pod that fits nowhere is an answer, not an error.
    """
    which = Which.of(given)
    if dump_path is None:
        asked = {"--config": config, "--plugin-dir": plugin_dirs, "--save": save}
        for option, value in asked.items():
            if value:
                raise click.UsageError(
                    f"{option} needs --cluster: the running scheduler has its own configuration"
                )
        tell(which, pod, node, output)
        return
    try:
        dump = read_dump(dump_path, sys.stdin.buffer)
        _tell_troubles(dump)
        wanted, notes = _find(pod, dump, dump_path)
        setting = _setting(config, plugin_dirs, dump)
        profiles = setting.configuration
        profile = profiles.profile(wanted.spec.scheduler_name) or profiles.profiles[0]
        situation = Situation(wanted, dump.everything(), profile, setting.registry, seed=seed)
        if save is not None:
            documents = config_documents(setting.documents, profile.scheduler_name, plugin_dirs)
            _save(save, case_of(situation, documents))
        explanation = explaining.explain(situation, node=node)
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    explanation.notes[:0] = notes
    _print(explanation, output)


# The dump and the pod ---------------------------------------------------------------------------


def _tell_troubles(dump: Dump) -> None:
    """What could not be read, on standard error: the answer is without it."""
    told = dump.troubles[:_TROUBLES_TOLD]
    for trouble in told:
        click.echo(f"warning: left out: {trouble}", err=True)
    if len(dump.troubles) > len(told):
        click.echo(f"warning: left out: {len(dump.troubles) - len(told)} more objects", err=True)
    if dump.skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(dump.skipped.items()))
        click.echo(f"not needed: {kinds}", err=True)


def _find(name: str, dump: Dump, dump_path: Path) -> tuple[Pod, list[str]]:
    """The pod to place, and what is to be said of it."""
    if not dump.objects["nodes"]:
        raise click.ClickException(
            f"{dump_path}: there is no node in it that can be read; "
            "dump the nodes too: kubectl get nodes,pods -A -o json"
        )
    path = Path(name)
    if name == STDIN or path.suffix.lower() in SUFFIXES or path.is_file():
        if name == STDIN and str(dump_path) == STDIN:
            raise click.ClickException("the pod and the dump cannot both come from standard input")
        return _unborn(read_pod(path, sys.stdin.buffer), dump)
    key = name if "/" in name else f"{DEFAULT_NAMESPACE}/{name}"
    found = dump.pods().get(key)
    workload = dump.workload(key) if found is None else None
    if workload is not None:
        pod, notes = _unborn(next_pod(workload), dump)
        pods = (one for one in dump.pods().values() if isinstance(one, Pod))
        return pod, [how_many(workload, pods), *notes]
    if not isinstance(found, Pod):
        raise click.ClickException(f"{dump_path}: {_not_found(key, dump)}")
    notes = ["the pod has ended; it holds nothing"] if found.is_finished else []
    return found, [*notes, *standing(dump.quotas.values(), found.namespace)]


def _unborn(pod: Pod, dump: Dump) -> tuple[Pod, list[str]]:
    """A pod that does not exist yet: the API server may have something against it."""
    pod, notes = admitted(pod, dump.priority_classes)
    quotas = dump.quotas.values()
    against = [f"the API server would refuse it: {said}" for said in refusals(pod, quotas)]
    return pod, [*notes, *against, *standing(quotas, pod.namespace)]


def _not_found(key: str, dump: Dump) -> str:
    bare = key.partition("/")[2]
    alike = sorted(other for other in dump.pods() if other.partition("/")[2] == bare)
    if alike:
        return f"there is no pod {key} in it, but {', '.join(alike)}"
    return (
        f"there is no pod {key} among its {len(dump.pods())} pods (a file is named with its suffix)"
    )


# The configuration ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Setting:
    configuration: Configuration
    registry: Registry
    #: The configuration as it is written.
    documents: Sequence[Mapping[str, Any]] = ()


def _setting(config: Path | None, plugin_dirs: Sequence[Path], dump: Dump) -> _Setting:
    from bayplan.plugins import default_registry

    registry = default_registry()
    registry.add_entry_points()
    for directory in plugin_dirs:
        registry.add_directory(directory)
    if config is not None:
        return _Setting(load_config(config, registry), registry, _documents(config))
    if dump.config:
        documents = [dump.config] if isinstance(dump.config, Mapping) else dump.config
        return _Setting(load_config_objects(documents, registry), registry, documents)
    return _Setting(default_config(registry), registry)


def _documents(config: Path) -> list[Mapping[str, Any]]:
    nodes, _ = read_documents(config.read_text(encoding="utf-8"))
    documents: list[dict[str, Any]] = [dict(node.value) for node in nodes]
    for document in documents:
        # Relative to the file, which the case will not lie beside.
        dirs = document.get("pluginDirs")
        if isinstance(dirs, list):
            document["pluginDirs"] = [str((config.parent / one).resolve()) for one in dirs]
    return [*documents]


# The answer -------------------------------------------------------------------------------------


def _save(path: Path, case: dict[str, Any]) -> None:
    try:
        path.write_bytes(msgspec.json.encode(case) + b"\n")
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror or error}") from error
    click.echo(f"saved: {path} (replay it with: bayplan evaluate {path} --table)", err=True)


def _print(explanation: explaining.Explanation, output: str) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(to_json(explanation)), indent=2))
        return
    from bayplan.cli.explanation_table import print_explanation

    print_explanation(explanation, wide=output == "wide")
