"""A KubeSchedulerConfiguration, kube-scheduler's own or scheduler-plugins', as ours.

Plugins that bayplan has stay where they are; ``counterparts`` says what stands for the others; what nobody stands for is
taken out, so that the rest can run, and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bayplan.framework.config import types
from bayplan.framework.config.points import POINT_TYPES
from bayplan.framework.plugin import POINTS, Plugin
from bayplan.kit.importing.counterparts import COUNTERPARTS, Counterpart
from bayplan.kit.importing.draft import Draft, Verdict
from bayplan.kit.importing.shapes import mapping, sequence

if TYPE_CHECKING:
    from bayplan.framework.registry import Registry

#: Points at which a profile must not be left without a plugin, and who runs there by default.
_NEVER_EMPTY: Final = ("queueSort", "postFilter", "bind")
_SETS: Final = ("multiPoint", *POINT_TYPES)


@dataclass(slots=True)
class _Set:
    """What a profile says about one point."""

    enabled: list[dict[str, Any]]
    disabled: list[dict[str, Any]]


def import_profiles(content: Mapping[str, Any], draft: Draft, registry: Registry) -> None:
    """Turn the document over into ``draft``."""
    version = str(content.get("apiVersion", ""))
    draft.written_for = version
    if version != types.VERSION:
        draft.say(Verdict.CHANGED, f"apiVersion: {version}", types.VERSION)
    rest = {
        key: value
        for key, value in content.items()
        if key not in ("apiVersion", "kind", "profiles")
    }
    draft.scheduler.update(rest)
    _settings(content, draft)
    profiles = content.get("profiles")
    if isinstance(profiles, list):
        draft.scheduler["profiles"] = [
            _Importer(profile, draft, registry).profile()
            if isinstance(profile, Mapping)
            else profile
            for profile in profiles
        ]
    elif profiles is not None:
        draft.scheduler["profiles"] = profiles  # the loader says what is wrong with it


def _settings(content: Mapping[str, Any], draft: Draft) -> None:
    """What stands outside of profiles and means something else with us."""
    if content.get("percentageOfNodesToScore"):
        draft.say(
            Verdict.CHANGED,
            "percentageOfNodesToScore",
            "every node is looked at",
            "so a placement is never worse for lack of looking",
        )
    if content.get("parallelism"):
        draft.say(
            Verdict.CHANGED,
            "parallelism",
            "parallelism",
            "bounds what runs outside at once: deciding takes one thread",
        )
    for extender in sequence(content.get("extenders"), "extenders"):
        if isinstance(extender, Mapping):
            draft.say(Verdict.KEPT, f"extender {extender.get('urlPrefix', '')}", "the same")
    for gone in (
        "algorithmSource",
        "healthzBindAddress",
        "metricsBindAddress",
        "disablePreemption",
    ):
        if gone in content:
            del draft.scheduler[gone]
            draft.say(Verdict.NONE, gone, "", f"not a field of {types.VERSION}")


class _Importer:
    """The work on one profile."""

    def __init__(self, content: Mapping[str, Any], draft: Draft, registry: Registry) -> None:
        self._content = content
        self._draft = draft
        self._registry = registry
        self._sets = {name: _set(content, name) for name in _SETS}
        self._args: dict[str, dict[str, Any]] = {}
        self._where = f"profile {content.get('schedulerName', types.DEFAULT_SCHEDULER_NAME)}"

    def profile(self) -> dict[str, Any]:
        """The profile as ours."""
        given = {
            str(entry.get("name")): entry.get("args")
            for entry in sequence(self._content.get("pluginConfig"), "profiles: pluginConfig")
            if isinstance(entry, Mapping)
        }
        for name in dict.fromkeys([*self._enabled(), *given]):
            self._plugin(name, given.get(name))
        rest = {k: v for k, v in self._content.items() if k not in ("plugins", "pluginConfig")}
        plugins = self._plugins()
        configured = [{"name": name, "args": args} for name, args in self._args.items()]
        return {
            **rest,
            **({"plugins": plugins} if plugins else {}),
            **({"pluginConfig": configured} if configured else {}),
        }

    def _enabled(self) -> Iterator[str]:
        for one in self._sets.values():
            yield from (str(entry.get("name")) for entry in one.enabled)

    def _plugin(self, name: str, args: Any) -> None:
        theirs = f"{self._where}: {name}"
        known = self._registry.get(name)
        if known is not None:
            self._draft.say(Verdict.KEPT, theirs, name)
            self._leave_points(known, theirs)
            if args is not None:
                self._args.setdefault(name, args)
            return
        counterpart = COUNTERPARTS.get(name)
        if counterpart is None:
            counterpart = Counterpart(
                Verdict.NONE,
                f"a plugin of your own? write it in Python: bayplan new-plugin {name}",
            )
        self._draft.say(counterpart.verdict, theirs, counterpart.name, counterpart.remark)
        places = self._take_out(name)
        if not counterpart.name:
            return
        translate = counterpart.arguments
        if translate is not None:
            given = mapping(args, f"pluginConfig: {name}: args")
            plain = {k: v for k, v in given.items() if k not in ("kind", "apiVersion")}
            translated = translate(plain, self._draft)
            if translated and counterpart.name not in self._args:
                self._args[counterpart.name] = translated
        self._put_in(counterpart, places)

    def _leave_points(self, plugin: type[Plugin], theirs: str) -> None:
        """Take a plugin of ours out where it has nothing to do, though theirs of the same name has."""
        for point, one in self._sets.items():
            if point == "multiPoint" or issubclass(plugin, POINTS.get(point, Plugin)):
                continue
            rest = [entry for entry in one.enabled if entry.get("name") != plugin.name]
            if len(rest) < len(one.enabled):
                self._draft.say(
                    Verdict.CHANGED, f"{theirs} at {point}", "", "ours has no need of it"
                )
                one.enabled = rest

    def _take_out(self, name: str) -> dict[str, dict[str, Any]]:
        """Remove a plugin everywhere; where it was enabled, and how."""
        places = {}
        for point, one in self._sets.items():
            for entry in [entry for entry in one.enabled if entry.get("name") == name]:
                one.enabled.remove(entry)
                places[point] = entry
            one.disabled = [entry for entry in one.disabled if entry.get("name") != name]
        for point in _NEVER_EMPTY:
            one = self._sets[point]
            if (
                point in places
                and not one.enabled
                and any(e.get("name") == "*" for e in one.disabled)
            ):
                one.disabled = []
                self._draft.say(
                    Verdict.CHANGED,
                    f"{self._where}: {point} without the default plugin",
                    "the default plugin",
                    f"{name} is not there to take its place",
                )
        return places

    def _put_in(self, counterpart: Counterpart, places: Mapping[str, dict[str, Any]]) -> None:
        if not places:
            return  # its arguments are configured, but it is enabled nowhere
        weight = next((entry["weight"] for entry in places.values() if entry.get("weight")), None)
        for point in counterpart.points:
            if point not in places and "multiPoint" not in places:
                continue
            one = self._sets[point]
            if any(entry.get("name") == counterpart.name for entry in one.enabled):
                continue
            entry = {"name": counterpart.name}
            if point == "score" and weight:
                one.enabled.append({**entry, "weight": weight})
            else:
                one.enabled.append(entry)

    def _plugins(self) -> dict[str, Any]:
        written = {}
        for point, one in self._sets.items():
            known = [
                e
                for e in one.disabled
                if e.get("name") == "*" or str(e.get("name")) in self._registry
            ]
            said = {
                key: value
                for key, value in (("enabled", one.enabled), ("disabled", known))
                if value
            }
            if said:
                written[point] = said
        return written


def _set(content: Mapping[str, Any], point: str) -> _Set:
    said = mapping(mapping(content.get("plugins"), "plugins").get(point), f"plugins: {point}")
    return _Set(_entries(said, point, "enabled"), _entries(said, point, "disabled"))


def _entries(said: Mapping[str, Any], point: str, which: str) -> list[dict[str, Any]]:
    where = f"plugins: {point}: {which}"
    return [dict(mapping(entry, where)) for entry in sequence(said.get(which), where)]
