"""All the pages that are made from the code, by file name. Written by ``tools/reference.py``, compared by a test."""

from __future__ import annotations

import click

from bayplan.kit.reference.commands import commands_page
from bayplan.kit.reference.configuration import configuration_page, plugins_page
from bayplan.kit.reference.metrics import metrics_page
from bayplan.plugins import default_registry


def reference_pages(group: click.Group) -> dict[str, str]:
    """The pages; ``group`` has the commands."""
    registry = default_registry()
    return {
        "configuration.md": configuration_page(registry),
        "plugins.md": plugins_page(registry),
        "commands.md": commands_page(group),
        "metrics.md": metrics_page(),
    }
