"""The arguments of plugins: from ``pluginConfig`` to the typed struct that each plugin asks for.

Fed with one profile as the file has it and the names that run; the answer goes into ``resolved.ProfileConfig``. The
structs and their rules belong to the plugins. (config/v1/types.go: decodeNestedObjects, scheduler.go: buildExtenders.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.errors import ConfigError
from bayplan.framework.config.decode import decode
from bayplan.framework.config.fields import duplicate
from bayplan.framework.config.paths import parse
from bayplan.framework.config.points import DEFAULTS, REMOVED, removal
from bayplan.framework.config.report import Report
from bayplan.framework.config.types import GROUP, VERSION
from bayplan.framework.plugin import NoArgs

if TYPE_CHECKING:
    from bayplan.framework.config.expand import Setting
    from bayplan.framework.config.paths import Path
    from bayplan.framework.config.types import Extender, PluginConfig
    from bayplan.framework.plugin import Plugin


def typed_arguments(
    configs: Sequence[PluginConfig],
    path: Path,
    names: Iterable[str],
    extenders: Sequence[Extender],
    setting: Setting,
) -> dict[str, msgspec.Struct]:
    """The arguments of every plugin in ``names``; what is wrong with any arguments is in the report."""
    report = setting.report
    given = _by_plugin(configs, (*path, "pluginConfig"), setting)
    wanted = list(names)
    ignored = [
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    ]
    if ignored and "NodeResourcesFit" not in {*given, *wanted}:
        report.error((*path, "pluginConfig"), "can't find NodeResourcesFitArgs in plugin config")
    found: dict[str, msgspec.Struct] = {}
    for name in [*wanted, *(name for name in given if name not in wanted)]:
        place, raw = given.get(name, ((*path, "pluginConfig"), None))
        plugin = setting.plugin(name, place)
        if plugin is None:
            if name in given:
                report.warn(place, f'there is no plugin "{name}", so these arguments are not used')
            continue
        if ignored and name == "NodeResourcesFit":
            raw = _with_ignored(raw, ignored, place, report)
        args = _typed(plugin, raw, place, setting, configured=name in given)
        if args is not None and name in wanted:
            found[name] = args
    return found


def _by_plugin(
    configs: Sequence[PluginConfig], path: Path, setting: Setting
) -> dict[str, tuple[Path, Any]]:
    given: dict[str, tuple[Path, Any]] = {}
    for index, config in enumerate(configs):
        place = (*path, index)
        if config.name in REMOVED:
            setting.report.error(place, removal(config.name, setting.api_version))
        elif config.name in given:
            setting.report.error(place, duplicate(config.name))
        else:
            given[config.name] = ((*place, "args"), config.args)
    return given


def _with_ignored(raw: Any, ignored: list[str], place: Path, report: Report) -> Any:
    """What extenders manage and want ignored takes the place of the argument, as upstream has it."""
    if raw is None:
        return {"ignoredResources": ignored}
    if not isinstance(raw, Mapping):
        return raw
    if raw.get("ignoredResources"):
        report.warn(
            (*place, "ignoredResources"),
            "not used: extenders that set ignoredByScheduler on their managedResources decide this",
        )
    return {**raw, "ignoredResources": ignored}


def _typed(
    plugin: type[Plugin], raw: Any, place: Path, setting: Setting, *, configured: bool
) -> msgspec.Struct | None:
    report = setting.report
    if raw is not None and not isinstance(raw, Mapping):
        report.broken(place, f"args for plugin {plugin.name} have to be an object")
        return None
    content = _without_type(plugin, raw or {}, place, setting)
    if plugin.args_type is NoArgs and content and plugin.name in DEFAULTS:
        # Upstream hands them over unread, so a file with such arguments runs there.
        report.warn(place, f"{plugin.name} takes no arguments; these are not used")
        content = {}
    if plugin.name not in DEFAULTS:
        content = _as_declared(content, plugin.args_type.__struct_encode_fields__)
    # Into a report of its own: the plugin's rules are asked only of arguments that are whole.
    trial = Report()
    args = decode(content, plugin.args_type, (), trial)
    for problem in trial.problems:
        if configured:
            report.error((*place, *parse(problem.path)), problem.message)
        else:
            message = f"plugin {plugin.name} needs arguments: {problem.path}: {problem.message}"
            report.error(place, message)
    if args is None or trial.problems:
        return None
    for where, message in _own_rules(plugin, args):
        report.error((*place, *parse(where)), message)
    return args


def _as_declared(content: dict[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """The arguments under the names that the plugin has for them.

    ``enable_gpu`` in Python is enableGpu in YAML; who writes enableGPU or enable_gpu means the same.
    """
    declared = {_folded(field): field for field in fields}
    renamed = {name: declared.get(_folded(name), name) for name in content}
    if len(set(renamed.values())) < len(renamed):
        return content  # the same argument twice: one of them is unknown, and said to be
    return {renamed[name]: value for name, value in content.items()}


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _own_rules(plugin: type[Plugin], args: msgspec.Struct) -> list[tuple[str, str]]:
    try:
        return list(plugin.check_args(args))
    except ConfigError as error:
        return [(problem.path, problem.message) for problem in error.problems]
    except Exception as error:  # noqa: BLE001 - a user's code; whatever it raises is a finding
        return [("", f"check_args of {plugin.name} raised {type(error).__name__}: {error}")]


def _without_type(
    plugin: type[Plugin], raw: Mapping[str, Any], place: Path, setting: Setting
) -> dict[str, Any]:
    """The arguments without ``kind`` and ``apiVersion``, which say of what type they are."""
    own = set(plugin.args_type.__struct_encode_fields__)
    content = {
        name: value for name, value in raw.items() if name not in {"kind", "apiVersion"} - own
    }
    kind, version = raw.get("kind"), raw.get("apiVersion")
    wanted = f"{plugin.name}Args"
    if "kind" not in own and kind not in (None, wanted):
        setting.report.error(
            (*place, "kind"),
            f"args for plugin {plugin.name} were not of type {wanted}.{GROUP}, got {kind}.{GROUP}",
        )
    versions = (None, VERSION, setting.api_version)
    if "apiVersion" not in own and plugin.name in DEFAULTS and version not in versions:
        setting.report.error(
            (*place, "apiVersion"),
            f'no kind "{wanted}" is registered for version "{version}"',
        )
    return content
