"""PodTopologySpread: pods that a selector names are spread evenly over zones, hosts or other domains."""

from bayplan.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
