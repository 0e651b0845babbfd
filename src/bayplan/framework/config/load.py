"""From a file to a ``Configuration``, or to the list of everything that is wrong with the file.

The steps: ``document`` reads YAML, ``decode`` makes typed structs of it, ``legacy`` adopts old versions, ``types`` fills
in defaults, ``validation`` and ``own`` judge, ``profiles`` expands plugins and types their arguments. Called by ``app``,
``cli.check_config`` and whoever evaluates a case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final

from bayplan.errors import ConfigError, Problem
from bayplan.framework.config import own, types
from bayplan.framework.config.decode import decode
from bayplan.framework.config.document import MAX_BYTES, Node, read_documents
from bayplan.framework.config.expand import Setting
from bayplan.framework.config.fields import invalid
from bayplan.framework.config.legacy import LEGACY_VERSIONS, adopt
from bayplan.framework.config.own import BayplanConfiguration, check_sections
from bayplan.framework.config.profiles import resolve_profiles
from bayplan.framework.config.report import Report
from bayplan.framework.config.resolved import Configuration, ProfileConfig
from bayplan.framework.config.types import KubeSchedulerConfiguration, with_defaults
from bayplan.framework.config.validation import validate
from bayplan.framework.config.wrong_kind import unknown_kind

if TYPE_CHECKING:
    from bayplan.framework.config.paths import Path
    from bayplan.framework.config.reloading import Arm
    from bayplan.framework.registry import Registry

#: The plugin that makes a profile's pods go by scheduling policies.
_POLICIES: Final = "SchedulingPolicy"
_VERSIONS: Final = {
    types.KIND: frozenset({types.VERSION}) | LEGACY_VERSIONS,
    own.KIND: frozenset({own.VERSION}),
}


@dataclass(frozen=True, slots=True)
class _Document:
    """One document of a file, known by its kind."""

    content: Mapping[str, Any]
    api_version: str
    report: Report


def load_config(
    text_or_path: str | FilePath, registry: Registry, *, source: str = ""
) -> Configuration:
    """The configuration that a text, or the file at a ``pathlib.Path``, holds.

    Plugins that it names by ``module:Class`` or keeps in ``pluginDirs`` are added to the registry.

    Raises:
        ConfigError: with everything that is wrong.
    """
    directory = FilePath()
    if isinstance(text_or_path, FilePath):
        source = source or str(text_or_path)
        directory = text_or_path.parent
        text_or_path = _read(text_or_path, source)
    documents, problems = read_documents(text_or_path)
    if problems and not documents:
        raise ConfigError(problems, source)
    loader = _Loader(registry, directory, source)
    loader.report.problems += problems
    return loader.load([(node.value, node) for node in documents])


def load_config_objects(
    objects: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    registry: Registry,
    *,
    source: str = "",
) -> Configuration:
    """The configuration in one or several objects, the documents of a file; there are no lines to name."""
    documents = objects if isinstance(objects, list | tuple) else [objects]
    return _Loader(registry, FilePath(), source).load([(content, None) for content in documents])


def default_config(registry: Registry) -> Configuration:
    """What runs without a file."""
    return load_config_objects({"apiVersion": types.VERSION, "kind": types.KIND}, registry)


def _read(path: FilePath, source: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError([Problem("", error.strerror or str(error))], source) from error
    if len(content) > MAX_BYTES:
        raise ConfigError([Problem("", f"the file is larger than {MAX_BYTES} bytes")], source)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError([Problem("", "not UTF-8 text")], source) from error


def _in_file(problem: Problem) -> float:
    return math.inf if problem.line is None else problem.line


class _Loader:
    def __init__(self, registry: Registry, directory: FilePath, source: str) -> None:
        self._registry = registry
        #: Where relative plugin directories start.
        self._directory = directory
        self._source = source
        self._dirs_failed = False
        self.report = Report()

    def load(self, documents: Sequence[tuple[Any, Node | None]]) -> Configuration:
        found: dict[str, _Document] = {}
        for kind, document in self._documents(documents):
            if kind in found:
                document.report.error(("kind",), f"a file holds one {kind}")
            else:
                found[kind] = document
        # Without its own kind the rest cannot be told apart from a mistake in it.
        if types.KIND not in found and not self.report.problems:
            if own.KIND not in found:
                self.report.error((), f"there is no {types.KIND} in it")
            found[types.KIND] = _Document({}, types.VERSION, Report(parent=self.report))
        settings, own_report = self._own(found.get(own.KIND))
        configuration = None
        if types.KIND in found:
            configuration = self._scheduler(found[types.KIND], settings)
            profiles = self._algorithms(configuration.profiles, settings, own_report)
            configuration = replace(configuration, profiles=profiles)
        if self.report.problems or configuration is None:
            raise ConfigError(sorted(self.report.problems, key=_in_file), self._source)
        return configuration

    def _documents(
        self, documents: Sequence[tuple[Any, Node | None]]
    ) -> Iterator[tuple[str, _Document]]:
        """The documents of a known kind; the others are in the report."""
        for content, node in documents:
            report = Report(node, parent=self.report)
            if not isinstance(content, Mapping):
                report.error((), "a configuration is an object with apiVersion and kind")
                continue
            kind, version = content.get("kind"), content.get("apiVersion")
            if not kind:
                report.error(("kind",), "Object 'Kind' is missing")
            if not version:
                report.error(("apiVersion",), "Object 'apiVersion' is missing")
            if not kind or not version:
                continue
            kind, version = str(kind), str(version)
            known = _VERSIONS.get(kind, frozenset())
            if version in known:
                rest = {k: v for k, v in content.items() if k not in {"kind", "apiVersion"}}
                yield kind, _Document(rest, version, report)
            elif known:
                message = f'no kind "{kind}" is registered for version "{version}"'
                report.error(("apiVersion",), f"{message}; use {min(known)}")
            else:
                path, message = unknown_kind(content, version, kind, _VERSIONS)
                report.error(path, message)

    def _own(self, document: _Document | None) -> tuple[BayplanConfiguration, Report]:
        if document is None:
            return BayplanConfiguration(), self.report
        report = document.report
        settings = decode(document.content, BayplanConfiguration, (), report)
        settings = settings or BayplanConfiguration()
        check_sections(settings, (), report)
        for index, directory in enumerate(settings.plugin_dirs):
            try:
                self._registry.add_directory(self._directory / directory)
            except ConfigError as error:
                self._dirs_failed = True
                for problem in error.problems:
                    report.error(("pluginDirs", index), problem.message)
        return settings, report

    def _scheduler(self, document: _Document, settings: BayplanConfiguration) -> Configuration:
        content, report = document.content, document.report
        if document.api_version in LEGACY_VERSIONS:
            content = adopt(content, document.api_version, report)
        report.misplaced = types.MISPLACED
        decoded = decode(content, KubeSchedulerConfiguration, (), report)
        config = with_defaults(decoded or KubeSchedulerConfiguration())
        validate(config, report)
        setting = Setting(self._registry, report, document.api_version, self._dirs_failed)
        profiles = resolve_profiles(config, setting)
        return Configuration(
            profiles=profiles,
            extenders=config.extenders,
            parallelism=config.parallelism,
            leader_election=config.leader_election,
            client_connection=config.client_connection,
            pod_initial_backoff_seconds=config.pod_initial_backoff_seconds,
            pod_max_backoff_seconds=config.pod_max_backoff_seconds,
            percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
            enable_profiling=config.enable_profiling,
            enable_contention_profiling=bool(config.enable_contention_profiling),
            delay_cache_until_active=config.delay_cache_until_active,
            own=settings,
            warnings=self.report.warnings,
            api_version=document.api_version,
            source=self._source,
        )

    def _algorithms(
        self, profiles: tuple[ProfileConfig, ...], settings: BayplanConfiguration, report: Report
    ) -> tuple[ProfileConfig, ...]:
        """The profiles with what bayplan's own document says about them."""
        by_name = {profile.scheduler_name: profile for profile in profiles}
        for index, extra in enumerate(settings.profiles):
            path = ("profiles", index)
            profile = by_name.get(extra.scheduler_name)
            if profile is None:
                if extra.scheduler_name:
                    detail = f"the {types.KIND} has no such profile"
                    report.error((*path, "schedulerName"), invalid(extra.scheduler_name, detail))
                continue
            if own.is_reference(extra.algorithm):
                try:
                    self._registry.load_object(extra.algorithm)
                except ConfigError as error:
                    for problem in error.problems:
                        report.error((*path, "algorithm"), problem.message)
            if extra.arm is not None:
                self._check_arm(extra.arm, profile, settings, by_name, (*path, "arm"), report)
            by_name[extra.scheduler_name] = replace(
                profile, algorithm=extra.algorithm, arm=extra.arm
            )
        for index, standby in enumerate(settings.standby):
            if standby.scheduler_name and standby.scheduler_name not in by_name:
                detail = f"the {types.KIND} has no such profile, and it takes one to stand in"
                where = ("standby", index, "schedulerName")
                report.error(where, invalid(standby.scheduler_name, detail))
        return tuple(by_name.get(profile.scheduler_name, profile) for profile in profiles)

    def _check_arm(
        self,
        arm: Arm,
        profile: ProfileConfig,
        settings: BayplanConfiguration,
        profiles: Mapping[str, ProfileConfig],
        path: Path,
        report: Report,
    ) -> None:
        path = (*path, "profile")
        other = profiles.get(arm.profile)
        if other is None:
            if arm.profile:
                report.error(path, invalid(arm.profile, f"the {types.KIND} has no such profile"))
        elif any(
            p.scheduler_name == arm.profile and p.arm is not None and p.arm is not arm
            for p in settings.profiles
        ):
            report.error(path, invalid(arm.profile, "that profile has an arm of its own"))
        elif (_POLICIES in profile.order) != (_POLICIES in other.order):
            # A pod whose policy cannot be used would be placed without it by the one that has not got the plugin.
            report.error(path, invalid(arm.profile, f"{_POLICIES} has to be in both or in neither"))
