from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan.errors import ConfigError
from bayplan.framework.config import default_config, load_config, load_config_objects
from bayplan.framework.registry import Registry

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
OBJECT = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def problems(text: str, registry: Registry) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(text, registry)
    return [str(problem) for problem in caught.value.problems]


def test_everything_that_is_wrong_at_once(registry: Registry) -> None:
    text = HEAD + (
        "parallelism: many\n"  # 3
        "profiles:\n"
        "- schedulerName: a\n"  # 5
        "  plugins:\n"
        "    filter:\n"
        "      enabled:\n"
        "      - name: DefaultPreemption\n"  # 9
        "      - name: Bogus\n"
        "    score:\n"
        "      enabled:\n"
        "      - name: LowCpu\n"
        "        weight: -3\n"  # 14
        "  pluginConfig:\n"
        "  - name: LowCpu\n"
        "    args:\n"
        "      zones: ['']\n"  # 18
        "- schedulerName: a\n"
        "  extenders: []\n"  # 20
        "leaderElection:\n"
        "  leaseDuration: soon\n"  # 22
    )
    assert [problem.split(": ")[:2] for problem in problems(text, registry)] == [
        ["line 3", "parallelism"],
        ["line 9", "profiles[0].plugins.filter.enabled[0]"],
        ["line 10", "profiles[0].plugins.filter.enabled[1]"],
        ["line 14", "profiles[0].plugins.score.enabled[0].weight"],
        ["line 18", "profiles[0].pluginConfig[0].args.zones[0]"],
        ["line 19", "profiles[1].schedulerName"],
        ["line 20", "profiles[1].extenders"],
        ["line 22", "leaderElection.leaseDuration"],
    ]


def test_every_field(load: Load) -> None:
    config = load(
        "parallelism: 8\nenableProfiling: false\npercentageOfNodesToScore: 40\n"
        "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 20\ndelayCacheUntilActive: true\n"
        "clientConnection: {kubeconfig: /k, qps: 1e3, burst: 2000, acceptContentTypes: x}\n"
        "leaderElection: {leaderElect: false, resourceName: mine}\n"
        "extenders:\n- urlPrefix: http://x\n  filterVerb: f\n  prioritizeVerb: p\n  weight: 2\n  bindVerb: b\n"
        "  preemptVerb: e\n  enableHTTPS: true\n  tlsConfig: {insecure: true, caData: aGk=}\n  httpTimeout: 30s\n"
        "  nodeCacheCapable: true\n  ignorable: true\n"
        "  managedResources: [{name: a.com/b, ignoredByScheduler: true}]\n"
    )
    assert (config.parallelism, config.enable_profiling, config.enable_contention_profiling) == (
        8,
        False,
        False,
    )
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (2, 20)
    assert (config.percentage_of_nodes_to_score, config.delay_cache_until_active) == (40, True)
    assert (config.client_connection.qps, config.client_connection.burst) == (1000.0, 2000)
    assert (config.leader_election.leader_elect, config.leader_election.resource_name) == (
        False,
        "mine",
    )
    extender = config.extenders[0]
    assert extender.tls_config is not None
    assert extender.tls_config.ca_data == b"hi"
    assert extender.http_timeout.total_seconds() == 30
    assert extender.managed_resources[0].ignored_by_scheduler


def test_default_config(registry: Registry) -> None:
    config = default_config(registry)
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]
    assert config.warnings == []


def test_objects(registry: Registry) -> None:
    config = load_config_objects([{**OBJECT, "parallelism": 2}], registry, source="case 1")
    assert (config.parallelism, config.source) == (2, "case 1")
    with pytest.raises(ConfigError, match=r"^case 2: parallelism: Invalid value: 0: should be"):
        load_config_objects({**OBJECT, "parallelism": 0}, registry, source="case 2")


@pytest.mark.parametrize("written", [5, "text", [7], [[]], True], ids=repr)
def test_what_is_no_object_is_told_once(registry: Registry, written: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config_objects(written, registry)
    assert str(caught.value) == "a configuration is an object with apiVersion and kind"


def test_a_file(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "parallelism: 0\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path, registry)
    assert str(caught.value).startswith(f"{path}: line 3: parallelism: Invalid value: 0")


def test_files_that_cannot_be_read(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory"):
        load_config(tmp_path / "missing.yaml", registry)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: \xe4\n")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_config(latin, registry)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ConfigError, match="the file is larger than 1048576 bytes"):
        load_config(large, registry)


def test_json(registry: Registry) -> None:
    text = '{\n\t"apiVersion": "kubescheduler.config.k8s.io/v1",\n\t"kind": "KubeSchedulerConfiguration",\n\t"parallelism": 0\n}'
    assert problems(text, registry)[0].startswith("line 4: parallelism: Invalid value: 0")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", ["there is no KubeSchedulerConfiguration in it"], id="empty"),
        pytest.param(
            "just text\n",
            ["line 1: a configuration is an object with apiVersion and kind"],
            id="text",
        ),
        pytest.param(
            "parallelism: 1\n",
            [
                "line 1: kind: Object 'Kind' is missing",
                "line 1: apiVersion: Object 'apiVersion' is missing",
            ],
            id="neither kind nor version",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\n",
            [
                'line 2: kind: no kind "ConfigMap" is registered for version "v1"; '
                "use KubeSchedulerConfiguration or BayplanConfiguration"
            ],
            id="another kind",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n  cfg.yaml: |\n    kind: KubeSchedulerConfiguration\n",
            [
                'line 5: data.cfg.yaml: no kind "ConfigMap" is registered for version "v1"; '
                "the configuration is the text under cfg.yaml: give that as a file of its own"
            ],
            id="a ConfigMap around a configuration",
        ),
        pytest.param(
            "apiVersion: [1]\nkind: {a: b}\n",
            [
                "line 2: kind: no kind \"{'a': 'b'}\" is registered for version \"[1]\"; "
                "use KubeSchedulerConfiguration or BayplanConfiguration"
            ],
            id="kind and version that are no words",
        ),
        pytest.param(
            HEAD + "---\n" + HEAD,
            ["line 5: kind: a file holds one KubeSchedulerConfiguration"],
            id="two of a kind",
        ),
        pytest.param(
            HEAD + "profiles:\n  schedulerName: a\n",
            ["line 3: profiles: cannot unmarshal object into field of type []KubeSchedulerProfile"],
            id="an object in place of a list",
        ),
        pytest.param(
            HEAD + "parallelism: 0\nparallelism: 2\n",
            [
                "line 3: parallelism: Invalid value: 0: should be an integer value greater than zero",
                'line 4: parallelism: key "parallelism" already set in map',
            ],
            id="a key twice; the first counts, and is judged too",
        ),
    ],
)
def test_what_is_no_configuration(registry: Registry, text: str, found: list[str]) -> None:
    assert problems(text, registry) == found


def test_a_problem_inside_an_alias_is_named_where_it_is_used(load: Load) -> None:
    text = (
        "profiles:\n- schedulerName: a\n  plugins: &p\n    score:\n      enabled:\n      - name: Bogus\n"
        "- schedulerName: b\n  plugins: *p\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert [(p.path, p.line) for p in caught.value.problems] == [
        ("profiles[0].plugins.score.enabled[0]", 8),
        ("profiles[1].plugins.score.enabled[0]", 8),
    ]


WORDS = [
    *[
        "apiVersion",
        "kind",
        "profiles",
        "plugins",
        "score",
        "enabled",
        "disabled",
        "name",
        "weight",
    ],
    *["multiPoint", "pluginConfig", "args", "extenders", "managedResources", "leaderElection", "*"],
    *["schedulerName", "NodeName", "NodeResourcesFit", "LowCpu", "qps", "leaseDuration", "json:x"],
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(WORDS), VALUES))
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_nonsense_is_refused_in_order(registry: Registry, content: dict[str, Any]) -> None:
    try:
        load_config_objects({**content, **OBJECT}, registry)
    except ConfigError as error:
        assert error.problems  # noqa: PT017 - whatever else is raised fails the test


@given(st.text(st.characters(codec="utf-8")) | st.text("ab:-&*!{}[]'\"#|>%@,? \n\t"))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_noise_is_refused_in_order(registry: Registry, text: str) -> None:
    with pytest.raises(ConfigError):
        load_config(text, registry)
