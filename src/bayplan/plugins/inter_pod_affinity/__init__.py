"""InterPodAffinity: pods that want to be near other pods, or away from them."""

from bayplan.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
