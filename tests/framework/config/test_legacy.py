from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bayplan.errors import ConfigError

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load

PROFILE = 'profiles[0]: profile "s": '


def test_v1beta3_gets_the_defaults_of_v1(load: Load) -> None:
    config = load("profiles:\n- schedulerName: s\n", "v1beta3")
    assert config.profiles[0].plugins == load("").profiles[0].plugins
    assert config.api_version == "kubescheduler.config.k8s.io/v1beta3"
    assert config.warnings == [
        "line 1: apiVersion: kubescheduler.config.k8s.io/v1beta3 is gone since Kubernetes 1.29; "
        "read as kubescheduler.config.k8s.io/v1, with its defaults",
        f"line 4: {PROFILE}DynamicResources runs by default, and did not in v1beta3",
        f"line 4: {PROFILE}NodeDeclaredFeatures runs by default, and did not in v1beta3",
        f"line 4: {PROFILE}EBSLimits, GCEPDLimits, AzureDiskLimits ran by default in v1beta3 and are gone; "
        "NodeVolumeLimits counts for them",
    ]


def test_v1beta2_had_other_weights(load: Load) -> None:
    text = (
        "healthzBindAddress: 0.0.0.0:10251\nmetricsBindAddress: ''\nprofiles:\n- schedulerName: s\n"
        "  plugins: {score: {enabled: [{name: NodeAffinity, weight: 9}, {name: ImageLocality}]}}\n"
    )
    config = load(text, "v1beta2")
    assert [tuple(ref) for ref in config.profiles[0].plugins["score"]][:3] == [
        ("NodeAffinity", 9),
        ("ImageLocality", 1),
        ("TaintToleration", 3),
    ]
    assert [w for w in config.warnings if "weight" in w] == [
        f"line 6: {PROFILE}the default weight of TaintToleration is 3, and was 1 in v1beta2",
        f"line 6: {PROFILE}the default weight of InterPodAffinity is 2, and was 1 in v1beta2",
    ]
    assert (
        "line 3: healthzBindAddress: healthzBindAddress is gone in kubescheduler.config.k8s.io/v1; not used"
        in (config.warnings)
    )
    assert config.warnings[-1] == (
        f"line 6: {PROFILE}a default plugin enabled at a point runs before the others there, and kept its place in "
        "v1beta2: NodeAffinity at score, ImageLocality at score"
    )


def test_only_what_concerns_the_profile_is_said(load: Load) -> None:
    text = (
        "profiles:\n- schedulerName: s\n  plugins:\n"
        "    multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}\n"
    )
    assert len(load(text, "v1beta2").warnings) == 1


def test_arguments_may_have_the_old_version(load: Load) -> None:
    text = (
        "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n"
        "    args: {apiVersion: kubescheduler.config.k8s.io/v1beta3, hardPodAffinityWeight: 3}\n"
    )
    assert load(text, "v1beta3").profiles[0].args["InterPodAffinity"] is not None


def test_plugins_that_are_gone_stay_gone(load: Load) -> None:
    text = "profiles:\n- plugins: {filter: {enabled: [{name: GCEPDLimits}]}}\n"
    with pytest.raises(ConfigError) as caught:
        load(text, "v1beta3")
    assert str(caught.value).endswith(
        'was invalid in version "kubescheduler.config.k8s.io/v1" '
        '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1beta3")'
    )


def test_the_dropped_fields_are_unknown_to_v1(load: Load) -> None:
    with pytest.raises(ConfigError, match='unknown field "healthzBindAddress"'):
        load("healthzBindAddress: x\n")


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v2"])
def test_versions_that_nobody_knows(load: Load, version: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load("", version)
    assert str(caught.value) == (
        'line 1: apiVersion: no kind "KubeSchedulerConfiguration" is registered for version '
        f'"kubescheduler.config.k8s.io/{version}"; use kubescheduler.config.k8s.io/v1'
    )
