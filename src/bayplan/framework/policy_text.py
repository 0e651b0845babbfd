"""Reading scheduling policies: from an object of their own, or from the texts of a ConfigMap.

Strict, like a configuration: whatever is not understood is named with its path, and in a ConfigMap with the line of its
text. A policy with a mistake is kept as one that cannot be used, so that pods that name it wait and say why; it never holds
in part. Called by ``runtime.ingest`` and by ``sim``; the policies go to ``cluster.scheduling_policies``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from bayplan.cluster.policy import Policy
from bayplan.errors import Problem, SelectorError
from bayplan.framework.config.decode import Int64, decode
from bayplan.framework.config.document import Node, read_documents
from bayplan.framework.config.fields import invalid, required, unsupported
from bayplan.framework.config.paths import Path, parse
from bayplan.framework.config.report import Report
from bayplan.framework.config.section import Section
from bayplan.model.label_syntax import key_problems
from bayplan.model.pod import NodeAffinity, Toleration
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy
from bayplan.model.selectors import compile_node_selector, compile_preferred_terms

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster

KIND: Final = "SchedulingPolicy"
_VERSIONS: Final = SchedulingPolicy.api_versions
_MAX_WEIGHT: Final = 100
#: What people call the disk of a node; nodes call it ephemeral-storage.
_STORAGE: Final = {"storage": "ephemeral-storage"}
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule")
_OPERATORS: Final = ("", "Equal", "Exists")
_REQUIRED: Final = "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"


class Spec(Section, frozen=True, kw_only=True):
    """What a policy says."""

    #: How much each resource counts where NodeResourcesFit ranks nodes.
    resource_weights: Mapping[str, Int64] = {}
    node_affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    priority_class: str = ""

    def mistakes(self) -> Iterator[tuple[Path, str]]:
        """What types cannot find: where inside the spec, and what."""
        yield from self._weights()
        for path, message in self._affinity():
            yield parse(path), message
        for index, toleration in enumerate(self.tolerations):
            for field, message in _toleration(toleration):
                yield ("tolerations", index, field), message

    def _weights(self) -> Iterator[tuple[Path, str]]:
        for name, weight in self.resource_weights.items():
            path = ("resourceWeights", name)
            for problem in key_problems(name):
                yield path, invalid(name, problem)
            if not 0 < weight <= _MAX_WEIGHT:
                yield path, invalid(weight, f"must be from 1 to {_MAX_WEIGHT}")
        named = [_STORAGE.get(name, name) for name in self.resource_weights]
        if len(set(named)) < len(named):
            yield ("resourceWeights",), "storage is ephemeral-storage; name it once"

    def _affinity(self) -> Iterator[tuple[str, str]]:
        affinity = self.node_affinity
        if affinity is None:
            return
        if affinity.required is not None:
            if not affinity.required.node_selector_terms:
                yield f"{_REQUIRED}.nodeSelectorTerms", required()
            error = compile_node_selector(affinity.required, _REQUIRED).error
            if error:
                yield _REQUIRED, error
        try:
            compile_preferred_terms(affinity.preferred, _PREFERRED)
        except SelectorError as error:
            yield _PREFERRED, error.message


def _toleration(toleration: Toleration) -> Iterator[tuple[str, str]]:
    if toleration.effect not in _EFFECTS:
        # The kubelet and the taint manager go by the pod's own spec: such a pod would be placed only to be evicted.
        supported = unsupported(toleration.effect, _EFFECTS)
        yield (
            "effect",
            f"{supported}; what a node does with running pods goes by the pod's own tolerations",
        )
    if toleration.operator not in _OPERATORS:
        yield "operator", unsupported(toleration.operator, _OPERATORS[1:])
    if toleration.operator == "Exists" and toleration.value:
        yield "value", invalid(toleration.value, "must be empty when operator is Exists")
    if not toleration.key and toleration.operator != "Exists":
        yield "operator", invalid(toleration.operator, "must be Exists when key is empty")


def take(cluster: Cluster, obj: SchedulingPolicy | ConfigMap) -> list[Problem]:
    """Bring the policies of an object into the cluster; what is wrong with them."""
    policies, problems = policies_of(obj)
    cluster.policies.put_all(source_of(obj), policies)
    return problems


def drop(cluster: Cluster, obj: SchedulingPolicy | ConfigMap) -> None:
    """An object is gone, and its policies with it."""
    cluster.policies.put_all(source_of(obj), {})


def source_of(obj: SchedulingPolicy | ConfigMap) -> str:
    """As ``Policy.source`` names it."""
    return f"{obj.kind} {obj.key}"


def holds_policies(config_map: ConfigMap) -> bool:
    """Whether any of the texts is a policy."""
    return any(KIND in text for text in config_map.data.values())


def policies_of(obj: SchedulingPolicy | ConfigMap) -> tuple[dict[str, Policy], list[Problem]]:
    """The policies of an object by name, and everything that is wrong with them."""
    if isinstance(obj, SchedulingPolicy):
        report = Report()
        policy = _policy(obj.name, obj.spec, obj, report)
        return {policy.name: policy}, report.problems
    policies: dict[str, Policy] = {}
    problems: list[Problem] = []
    for key, text in sorted(obj.data.items()):
        report = Report()
        for policy in _in_text(key, text, obj, report):
            if policy.name in policies:
                report.error(("metadata", "name"), f'policy "{policy.name}" is there already')
            else:
                policies[policy.name] = policy
        where = f"data[{key}]"
        problems += [
            Problem(f"{where}: {p.path}" if p.path else where, p.message, p.line)
            for p in report.problems
        ]
    return policies, problems


def _in_text(key: str, text: str, holder: ConfigMap, report: Report) -> Iterator[Policy]:
    """The policies in one text of a ConfigMap; one that cannot be read at all stands for the name of its key."""
    documents, problems = read_documents(text)
    report.problems += problems
    if problems:
        name = key.rpartition(".")[0] or key
        yield Policy(name, source_of(holder), _version(holder), problem=str(problems[0]))
        return
    for document in documents:
        inner = Report(document)
        yield from _in_document(key, document, holder, inner)
        report.problems += inner.problems


def _in_document(key: str, document: Node, holder: ConfigMap, report: Report) -> Iterator[Policy]:
    content = document.value
    name = key.rpartition(".")[0] or key
    if not isinstance(content, Mapping):
        report.error((), f"a {KIND} is an object with apiVersion, kind, metadata and spec")
        yield Policy(name, source_of(holder), _version(holder), problem=str(report.problems[0]))
        return
    if content.get("kind") != KIND:
        report.error(("kind",), unsupported(content.get("kind"), (KIND,)))
    if content.get("apiVersion") not in _VERSIONS:
        report.error(("apiVersion",), unsupported(content.get("apiVersion"), _VERSIONS))
    for field in content:
        if field not in {"apiVersion", "kind", "metadata", "spec"}:
            report.error((field,), f'unknown field "{field}"')
    meta = content.get("metadata")
    given = meta.get("name") if isinstance(meta, Mapping) else None
    if isinstance(given, str) and given:
        name = given
    else:
        report.error(("metadata", "name"), required())
    yield _policy(name, content.get("spec"), holder, report)


def _policy(name: str, spec: Any, holder: SchedulingPolicy | ConfigMap, report: Report) -> Policy:
    """What a spec comes to; with a problem of any kind it holds nothing but that."""
    said = Spec()
    before = len(report.problems)
    if spec is not None:
        said = decode(spec, Spec, ("spec",), report) or said
    if len(report.problems) == before:  # rules are asked only of a spec that is whole
        for path, message in said.mistakes():
            report.error(("spec", *path), message)
    source, version = source_of(holder), _version(holder)
    if report.problems:
        first, more = report.problems[0], len(report.problems) - 1
        problem = f"{first} (and {more} more)" if more else str(first)
        return Policy(name, source, version, problem=problem)
    weights = tuple((_STORAGE.get(n, n), weight) for n, weight in said.resource_weights.items())
    return Policy(
        name,
        source,
        version,
        weights,
        said.node_affinity,
        said.tolerations,
        said.priority_class,
    )


def _version(holder: SchedulingPolicy | ConfigMap) -> str:
    return holder.metadata.resource_version
