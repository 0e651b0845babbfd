"""The profiles of a file, each with its plugins expanded and its arguments typed.

Fed with the decoded file by ``load``; the answer is ``Configuration.profiles``. Beside what concerns one profile this
holds what profiles have to agree on: the order of the queue, which they share. (validation.go: validateCommonQueueSort,
profile/profile.go: cfgValidator.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.errors import ConfigError
from bayplan.framework.config.arguments import typed_arguments
from bayplan.framework.config.expand import Setting, expand
from bayplan.framework.config.fields import invalid
from bayplan.framework.config.legacy import LEGACY_VERSIONS, report_differences
from bayplan.framework.config.own import is_reference
from bayplan.framework.config.paths import Path, render
from bayplan.framework.config.resolved import Place, ProfileConfig

if TYPE_CHECKING:
    from bayplan.framework.config.types import (
        KubeSchedulerConfiguration,
        KubeSchedulerProfile,
        Plugin,
        PluginSet,
    )


def resolve_profiles(
    config: KubeSchedulerConfiguration, setting: Setting
) -> tuple[ProfileConfig, ...]:
    """Every profile as far as it makes sense; what is wrong is in the report."""
    profiles = [
        _by_name(profile, ("profiles", index), setting)
        for index, profile in enumerate(config.profiles)
    ]
    _common_queue_sort(profiles, setting)
    resolved = [_resolve(profile, index, config, setting) for index, profile in enumerate(profiles)]
    _same_queue_sort(resolved, setting)
    if setting.api_version in LEGACY_VERSIONS:
        for index, (profile, result) in enumerate(zip(profiles, resolved, strict=True)):
            report_differences(
                profile, result, ("profiles", index), setting.api_version, setting.report
            )
    return tuple(resolved)


def _resolve(
    profile: KubeSchedulerProfile, index: int, config: KubeSchedulerConfiguration, setting: Setting
) -> ProfileConfig:
    path: Path = ("profiles", index)
    name = profile.scheduler_name or ""
    expansion = expand(profile.plugins, path, name, setting)
    args = typed_arguments(profile.plugin_config, path, expansion.order, config.extenders, setting)
    places = dict(expansion.paths)
    for number, entry in enumerate(profile.plugin_config):
        if entry.name in places:
            places[entry.name] = (*path, "pluginConfig", number)
    own = profile.percentage_of_nodes_to_score
    return ProfileConfig(
        scheduler_name=name,
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score if own is None else own,
        plugins=expansion.plugins,
        args=args,
        order=expansion.order,
        places={
            plugin: Place(render(place), setting.report.line(place))
            for plugin, place in places.items()
        },
    )


def _by_name(profile: KubeSchedulerProfile, path: Path, setting: Setting) -> KubeSchedulerProfile:
    """``module:Class`` replaced by the name of the plugin that it loads."""

    def name_of(name: str, place: Path) -> str:
        if not is_reference(name):
            return name
        try:
            return setting.registry.load(name).name
        except ConfigError as error:
            for problem in error.problems:
                setting.report.error(place, problem.message)
            setting.report.hush(place)
            return name

    def named(plugins: tuple[Plugin, ...], place: Path) -> tuple[Plugin, ...]:
        return tuple(
            msgspec.structs.replace(plugin, name=name_of(plugin.name, (*place, number)))
            for number, plugin in enumerate(plugins)
        )

    sets: dict[str, Any] = {}
    for field in msgspec.structs.fields(profile.plugins):
        given: PluginSet = getattr(profile.plugins, field.name)
        place = (*path, "plugins", field.encode_name)
        sets[field.name] = msgspec.structs.replace(
            given,
            enabled=named(given.enabled, (*place, "enabled")),
            disabled=named(given.disabled, (*place, "disabled")),
        )
    configs = tuple(
        msgspec.structs.replace(entry, name=name_of(entry.name, (*path, "pluginConfig", number)))
        for number, entry in enumerate(profile.plugin_config)
    )
    plugins = msgspec.structs.replace(profile.plugins, **sets)
    return msgspec.structs.replace(profile, plugins=plugins, plugin_config=configs)


def _common_queue_sort(profiles: list[KubeSchedulerProfile], setting: Setting) -> None:
    """Whether the files' ``queueSort`` sets are alike, before MultiPoint comes in."""
    first = _queue_sort(profiles[0])
    if len(first["Enabled"] or ()) > 1:
        setting.report.error(
            ("profiles", 0, "plugins", "queueSort", "enabled"),
            invalid(len(first["Enabled"]), "only one queue sort plugin can be enabled"),
        )
    for index, profile in enumerate(profiles):
        if _queue_sort(profile) != first:
            setting.report.error(
                ("profiles", index, "plugins", "queueSort"),
                invalid(_queue_sort(profile), "must be the same for all profiles"),
            )


def _queue_sort(profile: KubeSchedulerProfile) -> dict[str, Any]:
    """As upstream prints the set."""
    given = profile.plugins.queue_sort
    return {
        "Enabled": [{"Name": p.name, "Weight": p.weight or 0} for p in given.enabled] or None,
        "Disabled": [{"Name": p.name, "Weight": 0} for p in given.disabled] or None,
    }


def _same_queue_sort(profiles: list[ProfileConfig], setting: Setting) -> None:
    """Whether the profiles come to the same queue sort plugin with the same arguments."""
    sorts = [profile.plugins["queueSort"] for profile in profiles]
    if any(len(refs) != 1 for refs in sorts):
        return  # said already
    first, args = sorts[0][0].name, profiles[0].args.get(sorts[0][0].name)
    for index, (profile, refs) in enumerate(zip(profiles, sorts, strict=True)):
        path, name = ("profiles", index, "plugins", "queueSort"), profile.scheduler_name
        if refs[0].name != first:
            message = f'different queue sort plugins for profile "{name}": "{refs[0].name}", first: "{first}"'
            setting.report.error(path, message)
        elif profile.args.get(first) != args:
            setting.report.error(path, f'different queue sort plugin args for profile "{name}"')
