"""One scheduler profile at work: its plugins instantiated, and in run order at every point.

Built from a ``ProfileConfig`` by ``app``; read by the runner and the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bayplan.errors import ConfigError, Problem

if TYPE_CHECKING:
    from bayplan.framework.config.resolved import ProfileConfig
    from bayplan.framework.handle import Handle
    from bayplan.framework.plugin import (
        BindPlugin,
        FilterPlugin,
        PermitPlugin,
        Plugin,
        PostBindPlugin,
        PostFilterPlugin,
        PreBindPlugin,
        PreEnqueuePlugin,
        PreFilterPlugin,
        PreScorePlugin,
        QueueSortPlugin,
        ReservePlugin,
        ScorePlugin,
    )
    from bayplan.framework.registry import Registry


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Profile:
    """The plugins of one scheduler name. A plugin that serves several points is one instance."""

    name: str
    percentage_of_nodes_to_score: int
    #: Every instance once, those of MultiPoint first, in its order.
    plugins: list[Plugin]
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    #: Exactly one.
    queue_sort: tuple[QueueSortPlugin, ...]
    prefilter: tuple[PreFilterPlugin, ...]
    filter: tuple[FilterPlugin, ...]
    postfilter: tuple[PostFilterPlugin, ...]
    prescore: tuple[PreScorePlugin, ...]
    score: tuple[ScorePlugin, ...]
    #: Of every plugin in ``score``, by name; 1 at least.
    weights: dict[str, int]
    reserve: tuple[ReservePlugin, ...]
    permit: tuple[PermitPlugin, ...]
    prebind: tuple[PreBindPlugin, ...]
    bind: tuple[BindPlugin, ...]
    postbind: tuple[PostBindPlugin, ...]
    #: Which reading of the configuration it comes from: 1 is that of the start.
    generation: int = 1


def build_profile(
    config: ProfileConfig, registry: Registry, handle: Handle | None = None
) -> Profile:
    """Instantiate a profile's plugins.

    Raises:
        ConfigError: with every plugin that cannot be built, and where the file configures it.
    """
    built: dict[str, Plugin] = {}
    problems: list[Problem] = []
    for name in config.order:
        try:
            built[name] = _instance(name, config, registry, handle)
        except Exception as error:  # noqa: BLE001 - a user's code; whatever it raises is a finding
            place = config.places.get(name)
            message = f'initializing plugin "{name}": {type(error).__name__}: {error}'
            problems.append(
                Problem(place.path, message, place.line) if place else Problem("", message)
            )
    if problems:
        raise ConfigError(problems)

    def at(point: str) -> tuple[Plugin, ...]:
        return tuple(built[ref.name] for ref in config.plugins.get(point, ()))

    return Profile(
        name=config.scheduler_name,
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        plugins=list(built.values()),
        pre_enqueue=cast("tuple[PreEnqueuePlugin, ...]", at("preEnqueue")),
        queue_sort=cast("tuple[QueueSortPlugin, ...]", at("queueSort")),
        prefilter=cast("tuple[PreFilterPlugin, ...]", at("preFilter")),
        filter=cast("tuple[FilterPlugin, ...]", at("filter")),
        postfilter=cast("tuple[PostFilterPlugin, ...]", at("postFilter")),
        prescore=cast("tuple[PreScorePlugin, ...]", at("preScore")),
        score=cast("tuple[ScorePlugin, ...]", at("score")),
        weights={ref.name: ref.weight or 1 for ref in config.plugins.get("score", ())},
        reserve=cast("tuple[ReservePlugin, ...]", at("reserve")),
        permit=cast("tuple[PermitPlugin, ...]", at("permit")),
        prebind=cast("tuple[PreBindPlugin, ...]", at("preBind")),
        bind=cast("tuple[BindPlugin, ...]", at("bind")),
        postbind=cast("tuple[PostBindPlugin, ...]", at("postBind")),
        generation=registry.generation,
    )


def _instance(
    name: str, config: ProfileConfig, registry: Registry, handle: Handle | None
) -> Plugin:
    plugin = registry.get(name)
    if plugin is None:
        raise LookupError(f"the registry has no plugin {name}")
    return plugin(config.args.get(name), handle)
