"""The default set: complete, in Kubernetes' order, each under its own name."""

from __future__ import annotations

from bayplan.framework.config.points import DEFAULTS
from bayplan.plugins import default_plugins, default_registry


def test_every_default_plugin_is_there_in_order() -> None:
    assert [plugin.name for plugin in default_plugins()] == list(DEFAULTS)


def test_names_are_the_classes_names() -> None:
    assert all(plugin.name == plugin.__name__ for plugin in default_plugins())


def test_the_registry_knows_them() -> None:
    assert list(default_registry()) == list(DEFAULTS)


def test_every_plugin_says_what_it_reads() -> None:
    silent = [plugin.name for plugin in default_plugins() if plugin.reads is None]
    assert silent == [], "one such plugin and every attempt starts afresh"
