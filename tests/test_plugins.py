"""The default set: complete, in Kubernetes' order, each under its own name."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import bayplan.policies
from bayplan.framework.config.points import DEFAULTS
from bayplan.plugins import default_plugins, default_registry


def test_every_default_plugin_is_there_in_order() -> None:
    assert [plugin.name for plugin in default_plugins()] == list(DEFAULTS)


def test_names_are_the_classes_names() -> None:
    assert all(plugin.name == plugin.__name__ for plugin in default_plugins())


def test_the_registry_knows_them() -> None:
    assert list(default_registry())[: len(DEFAULTS)] == list(DEFAULTS)


POLICIES = list(default_registry())[len(DEFAULTS) :]


def test_every_policy_there_is_is_known() -> None:
    files = Path(bayplan.policies.__file__).parent.glob("[!_]*.py")
    classes = [default_registry().get(name) for name in POLICIES]
    modules = {plugin.__module__.rpartition(".")[2] for plugin in classes if plugin is not None}
    assert modules >= {file.stem for file in files}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_found_by_its_name_and_describes_itself(name: str) -> None:
    plugin = default_registry().get(name)
    assert plugin is not None
    assert plugin.name == name
    assert plugin.points()
    described = inspect.getmodule(plugin.__mro__[0 if plugin.__doc__ else 1])
    assert described is not None
    assert (described.__doc__ or "").strip()


def test_an_alias_is_the_plugin_under_another_name() -> None:
    alias = default_registry().get("NodeAffinityPlugin")
    assert alias is not None
    assert alias.__mro__[1] is default_registry().get("NodeAffinity")


def test_every_plugin_says_what_it_reads() -> None:
    silent = [plugin.name for plugin in default_plugins() if plugin.reads is None]
    assert silent == [], "one such plugin and every attempt starts afresh"
