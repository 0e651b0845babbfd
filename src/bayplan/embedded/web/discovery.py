"""Discovery: which groups, versions and resources there are, in both forms that clients ask for.

Made from the kinds that are served now, and made again when one comes or goes. Clients read the aggregated form first;
the plain one has a document per group and version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.embedded.objects import Object

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind, Kinds

#: The versions of the aggregated form, the preferred one first.
AGGREGATED: Final = ("v2", "v2beta1")
AGGREGATED_GROUP: Final = "apidiscovery.k8s.io"

VERSION: Final[Object] = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.4+bayplan",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "any/any",
}

_CHANGED: Final = ("get", "patch", "update")
#: Subresources that are no part of their object: kind, group, version, verbs.
_APART: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    "binding": ("Binding", "", "v1", ("create",)),
    "eviction": ("Eviction", "policy", "v1", ("create",)),
    "scale": ("Scale", "autoscaling", "v1", _CHANGED),
    "finalize": ("Namespace", "", "v1", ("update",)),
}


def versions(address: str) -> Object:
    """``/api``."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(kinds: Kinds) -> Object:
    """``/apis``."""
    found = [_group(name, list(served)) for name, served in kinds.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: Kinds, name: str) -> Object | None:
    """``/apis/GROUP``."""
    served = kinds.groups().get(name)
    if not name or served is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, list(served))


def _group(name: str, served: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in served]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resources(kinds: Kinds, group_name: str, version: str) -> Object | None:
    """``/apis/GROUP/VERSION`` and ``/api/v1``."""
    served = kinds.groups().get(group_name, {}).get(version)
    if served is None:
        return None
    found: list[Object] = []
    for kind in sorted(served, key=lambda kind: kind.plural):
        found.append(_resource(kind))
        found += [_subresource(kind, name) for name in kind.subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group_name}/{version}" if group_name else version,
        "resources": found,
    }


def _resource(kind: Kind) -> Object:
    found: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        found["shortNames"] = list(kind.short_names)
    if kind.categories:
        found["categories"] = list(kind.categories)
    return found


def _subresource(kind: Kind, name: str) -> Object:
    said, group_name, version, verbs = _facts(kind, name)
    found: Object = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if (group_name, version) != (kind.group, kind.version):
        found |= {"group": group_name, "version": version}
    return found | {"kind": said, "verbs": list(verbs)}


def _facts(kind: Kind, name: str) -> tuple[str, str, str, tuple[str, ...]]:
    return _APART.get(name, (kind.kind, kind.group, kind.version, _CHANGED))


def aggregated(kinds: Kinds, version: str, *, core: bool) -> Object:
    """``/api`` or ``/apis`` with everything below it."""
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": one,
                    "resources": [
                        _aggregated_resource(kind)
                        for kind in sorted(members, key=lambda kind: kind.plural)
                    ],
                    "freshness": "Current",
                }
                for one, members in served.items()
            ],
        }
        for name, served in kinds.groups().items()
        if (name == "") is core
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{AGGREGATED_GROUP}/{version}",
        "metadata": {},
        "items": items,
    }


def _aggregated_resource(kind: Kind) -> Object:
    found: Object = {
        "resource": kind.plural,
        "responseKind": _response(kind.group, kind.version, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        found["shortNames"] = list(kind.short_names)
    if kind.categories:
        found["categories"] = list(kind.categories)
    below = []
    for name in kind.subresources:
        said, group_name, version, verbs = _facts(kind, name)
        response = _response(group_name, version, said)
        below.append({"subresource": name, "responseKind": response, "verbs": list(verbs)})
    if below:
        found["subresources"] = below
    return found


def _response(group_name: str, version: str, kind: str) -> Object:
    return {"group": group_name, "version": version, "kind": kind}
