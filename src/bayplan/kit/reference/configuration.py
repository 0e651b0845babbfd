"""The page on configuration files: every field of both documents, and every plugin with its arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.framework.config.own import VERSION as OWN_VERSION
from bayplan.framework.config.own import BayplanConfiguration
from bayplan.framework.config.points import DEFAULTS
from bayplan.framework.config.types import VERSION, KubeSchedulerConfiguration, Plugins, PluginSet
from bayplan.kit.reference.structs import below, settings, table

if TYPE_CHECKING:
    from bayplan.framework.plugin import Plugin
    from bayplan.framework.registry import Registry

_HEAD: Final = """# Configuration reference

*Made from the code by `make docs`; do not edit.*

A file for `--config` holds one or two YAML documents: kube-scheduler's own, and ours beside it for what kube-scheduler has not got.
`bayplan check-config FILE` shows what a file comes to, or everything that is wrong with it, each with its line.
"""


def configuration_page(registry: Registry) -> str:
    """The page."""
    return "\n".join(
        [
            _HEAD,
            f"## KubeSchedulerConfiguration\n\n`{VERSION}`; `v1beta3` and `v1beta2` are read as v1, and differences are told.\n",
            *_documents(KubeSchedulerConfiguration),
            f"## BayplanConfiguration\n\n`{OWN_VERSION}`\n",
            *_documents(BayplanConfiguration),
        ]
    )


def plugins_page(registry: Registry) -> str:
    """The page on plugins: the default ones with their weights, and the policies, each with its arguments."""
    parts = ["# Plugins reference\n\n*Made from the code by `make docs`; do not edit.*\n"]
    parts.append("## Kubernetes' own, in the default profile\n")
    parts += [_plugin(registry, name) for name in DEFAULTS]
    parts.append("## Others, known by name\n")
    parts += [_plugin(registry, name) for name in registry if name not in DEFAULTS]
    return "\n".join(parts)


def _documents(top: type[msgspec.Struct]) -> list[str]:
    """The struct and those in it, each once."""
    seen: dict[type[msgspec.Struct], None] = {}
    waiting = [top]
    while waiting:
        struct = waiting.pop(0)
        if struct in seen or struct is PluginSet:
            continue
        seen[struct] = None
        waiting += below(struct)
    parts = []
    for struct in seen:
        doc = inspect.getdoc(struct) or ""
        rows = settings(struct)
        if struct is Plugins:
            points = ", ".join(f"`{row.name}`" for row in rows)
            said = "Each has `enabled` and `disabled`, lists of `Plugin`; `'*'` under `disabled` means all."
            parts.append(f"### Plugins\n\n{doc} {said} The points: {points}.\n")
        else:
            parts.append(f"### {struct.__name__}\n\n{doc}\n\n{table(rows)}")
    return parts


def _plugin(registry: Registry, name: str) -> str:
    plugin = registry.get(name)
    assert plugin is not None
    about = _about(plugin)
    where = ", ".join(f"`{point}`" for point in plugin.points())
    weight = f", weight {DEFAULTS[name]}" if DEFAULTS.get(name) else ""
    text = f"### {name}\n\n{about}\n\nAt {where}{weight}.\n"
    rows = settings(plugin.args_type, plugin if plugin.args_type.__module__ == "msgspec" else None)
    if rows:
        text += f"\n{table(rows)}"
        for struct in dict.fromkeys(below(plugin.args_type)):
            text += f"\n`{struct.__name__}`:\n\n{table(settings(struct))}"
    return text


def _about(plugin: type[Plugin]) -> str:
    """The first paragraph of its module, without the name in front."""
    module = inspect.getmodule(plugin.__mro__[0] if plugin.__doc__ else plugin.__mro__[1])
    text = inspect.getdoc(module) or inspect.getdoc(plugin) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    said = first.partition(": ")[2] or first
    return (said[:1].upper() + said[1:]).replace("``", "`")
