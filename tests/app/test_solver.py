"""The solver, where the configuration asks for it."""

from __future__ import annotations

import pytest

from bayplan.app import solver
from bayplan.errors import ConfigError
from bayplan.framework.config import load_config
from bayplan.plugins import default_registry

TEXT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
---
apiVersion: bayplan.io/v1alpha1
kind: BayplanConfiguration
gangs: {solver: true, solverEffort: 3}
"""


def test_what_the_configuration_says_counts() -> None:
    pytest.importorskip("ortools")
    found = solver.solving(load_config(TEXT, default_registry()), seed=7)
    assert found is not None
    assert (found.limits.effort, found.limits.seed) == (3.0, 7)


def test_off_by_default() -> None:
    assert solver.solving(load_config(TEXT.partition("---")[0], default_registry()), seed=7) is None


def test_without_the_extra_the_configuration_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"gangs\.solver: .*pip install 'bayplan\[solver\]'"):
        solver.solving(load_config(TEXT, default_registry()), seed=7)
