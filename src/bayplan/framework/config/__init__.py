"""Configuration files: KubeSchedulerConfiguration v1 (and v1beta3, v1beta2), and bayplan's own settings beside it.

A file goes in, a ``Configuration`` comes out, or a ``ConfigError`` with everything that is wrong and where.
"""

from bayplan.framework.config.load import default_config, load_config, load_config_objects
from bayplan.framework.config.own import BayplanConfiguration
from bayplan.framework.config.resolved import Configuration, PluginRef, ProfileConfig

__all__ = [
    "BayplanConfiguration",
    "Configuration",
    "PluginRef",
    "ProfileConfig",
    "default_config",
    "load_config",
    "load_config_objects",
]
