"""The command line: parse, call, print, exit. One module per command, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

#: Command to module and function.
_COMMANDS = {
    "bench": ("bench", "bench"),
    "check-config": ("check_config", "check_config"),
    "cluster": ("cluster", "cluster"),
    "compare-arms": ("compare_arms", "compare_arms"),
    "demo": ("demo", "demo"),
    "evaluate": ("evaluate", "evaluate"),
    "explain": ("explain", "explain"),
    "extender": ("extender", "extender"),
    "import": ("import_config", "import_config"),
    "lint-plugin": ("lint_plugin", "lint_plugin"),
    "new-plugin": ("new_plugin", "new_plugin"),
    "queue": ("queue", "queue"),
    "run": ("run", "run"),
    "top": ("top", "top"),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"{__name__}.{module}"), function)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bayplan")
def main() -> None:
    """The Kubernetes scheduler that is programmed in Python."""
