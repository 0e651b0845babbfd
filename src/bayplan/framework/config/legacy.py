"""Files of kube-scheduler releases that are gone: v1beta2 (until 1.27) and v1beta3 (until 1.28).

They are read as v1 and get the defaults of v1; what then differs from the release they were written for is said in
warnings, which ``bayplan check-config`` prints. (Kubernetes v1.27.16 and v1.28.15, apis/config/v1beta2 and v1beta3.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bayplan.framework.config.points import DEFAULTS
from bayplan.framework.config.types import GROUP, VERSION

if TYPE_CHECKING:
    from bayplan.framework.config.paths import Path
    from bayplan.framework.config.report import Report
    from bayplan.framework.config.resolved import ProfileConfig
    from bayplan.framework.config.types import KubeSchedulerProfile


@dataclass(frozen=True, slots=True)
class _Release:
    """What an old version of the file did otherwise than v1."""

    #: The first Kubernetes release without it.
    gone_in: str
    #: Default weights, in the old order of Score plugins.
    weights: Mapping[str, int]
    #: Default plugins that v1 has not got, or has only now.
    only_then: tuple[str, ...]
    only_now: tuple[str, ...]
    #: Fields at the top level that v1 has not got.
    dropped_fields: tuple[str, ...] = ()
    #: Whether a default plugin that a point enables again keeps its place in the order.
    in_place: bool = False


_ONLY_THEN: Final = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits")
_ONLY_NOW: Final = ("DynamicResources", "NodeDeclaredFeatures")

_RELEASES: Final[dict[str, _Release]] = {
    f"{GROUP}/v1beta2": _Release(
        gone_in="1.28",
        weights={
            "NodeResourcesBalancedAllocation": 1,
            "ImageLocality": 1,
            "InterPodAffinity": 1,
            "NodeResourcesFit": 1,
            "NodeAffinity": 1,
            "PodTopologySpread": 2,
            "TaintToleration": 1,
        },
        only_then=_ONLY_THEN,
        only_now=_ONLY_NOW,
        dropped_fields=("healthzBindAddress", "metricsBindAddress"),
        in_place=True,
    ),
    f"{GROUP}/v1beta3": _Release(
        gone_in="1.29",
        weights={
            "TaintToleration": 3,
            "NodeAffinity": 2,
            "NodeResourcesFit": 1,
            "PodTopologySpread": 2,
            "InterPodAffinity": 2,
            "NodeResourcesBalancedAllocation": 1,
            "ImageLocality": 1,
        },
        only_then=_ONLY_THEN,
        only_now=_ONLY_NOW,
    ),
}

LEGACY_VERSIONS: Final = frozenset(_RELEASES)


def adopt(content: Mapping[str, Any], api_version: str, report: Report) -> dict[str, Any]:
    """An old file as v1 would have it; its lines and paths stay as they are."""
    release = _RELEASES[api_version]
    report.warn(
        ("apiVersion",),
        f"{api_version} is gone since Kubernetes {release.gone_in}; read as {VERSION}, with its defaults",
    )
    for name in release.dropped_fields:
        if content.get(name):
            report.warn((name,), f"{name} is gone in {VERSION}; not used")
    return {name: value for name, value in content.items() if name not in release.dropped_fields}


def report_differences(
    written: KubeSchedulerProfile,
    profile: ProfileConfig,
    path: Path,
    api_version: str,
    report: Report,
) -> None:
    """Warn of what a profile does otherwise than under the release that it was written for."""
    release = _RELEASES[api_version]
    version = api_version.rpartition("/")[2]
    name = profile.scheduler_name
    explicit = {
        plugin.name
        for point in ("score", "multiPoint")
        for plugin in written.plugins.at(point).enabled
    }
    for ref in profile.plugins["score"]:
        before = release.weights.get(ref.name)
        if ref.name not in explicit and before is not None and before != ref.weight:
            report.warn(
                path,
                f'profile "{name}": the default weight of {ref.name} is {ref.weight}, and was {before} in {version}',
            )
    for plugin in release.only_now:
        if any(plugin == ref.name for refs in profile.plugins.values() for ref in refs):
            report.warn(
                path, f'profile "{name}": {plugin} runs by default, and did not in {version}'
            )
    if "*" not in {plugin.name for plugin in written.plugins.multi_point.disabled}:
        gone = ", ".join(release.only_then)
        report.warn(
            path,
            f'profile "{name}": {gone} ran by default in {version} and are gone; NodeVolumeLimits counts for them',
        )
    again = [
        f"{plugin.name} at {point}"
        for point, refs in profile.plugins.items()
        for plugin in written.plugins.at(point).enabled
        if release.in_place and plugin.name in DEFAULTS and len(refs) > 1
    ]
    if again:
        report.warn(
            path,
            f'profile "{name}": a default plugin enabled at a point runs before the others there, and kept its place '
            f"in {version}: {', '.join(again)}",
        )
