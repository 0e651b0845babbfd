"""Kubeconfig files: read, and laid over each other as kubectl does it: whoever names something first wins.

Paths in a file are relative to it. What comes out is still only what the files say; ``client.config`` makes a
``ClusterAccess`` of one context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from bayplan.errors import ConfigError, Problem

#: Larger than any kubeconfig.
_SIZE_LIMIT: Final = 16 * 1024 * 1024


class Part(msgspec.Struct, rename="kebab", frozen=True, repr_omit_defaults=True):
    """A part of a kubeconfig; what it says beyond this is for others."""


class Extension(Part, frozen=True):
    """Something for a program that we may call."""

    name: str = ""
    extension: Any = None


class Cluster(Part, frozen=True):
    """Where an API server is, and how to know it."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()


class Variable(msgspec.Struct, frozen=True):
    """An environment variable for a command."""

    name: str
    value: str = ""

    def __repr__(self) -> str:
        return self.name


class Exec(msgspec.Struct, rename="camel", frozen=True, repr_omit_defaults=True):
    """A command that gives credentials."""

    command: str = ""
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(Part, frozen=True):
    """Whom to be taken for."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec_: Exec | None = msgspec.field(default=None, name="exec")
    auth_provider: Any = None
    impersonate: str = msgspec.field(default="", name="as")

    def __repr__(self) -> str:
        return "User(…)"


class Context(Part, frozen=True):
    """A user at a cluster."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(Part, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(Part, frozen=True):
    name: str
    user: User = User()


class _NamedContext(Part, frozen=True):
    name: str
    context: Context = Context()


class _File(Part, frozen=True):
    kind: str = ""
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


@dataclass(slots=True)
class Kubeconfig:
    """One file, or several in one; each entry with the file it is from."""

    #: For messages: all files.
    source: str
    current_context: str = ""
    clusters: dict[str, tuple[Cluster, Path]] = field(default_factory=dict)
    users: dict[str, tuple[User, Path]] = field(default_factory=dict)
    contexts: dict[str, tuple[Context, Path]] = field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    """YAML in which a password of digits remains a text, and so does a token that looks like a date."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag.rpartition(":")[2] in ("bool", "null", "merge")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(paths: Sequence[Path], *, all_needed: bool) -> Kubeconfig:
    """The files laid over each other, the first on top.

    Args:
        paths: the files.
        all_needed: whether one that does not exist is an error.

    Raises:
        ConfigError: a file cannot be read or understood.
    """
    merged = Kubeconfig(":".join(str(path) for path in paths))
    for path in paths:
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            if not all_needed:
                continue
            raise ConfigError([Problem("", "there is no such file")], str(path)) from None
        except OSError as error:
            raise ConfigError(
                [Problem("", f"cannot be read: {error.strerror}")], str(path)
            ) from error
        _lay_under(merged, _parse(text, path), path.absolute())
    return merged


def _lay_under(merged: Kubeconfig, found: _File, path: Path) -> None:
    merged.current_context = merged.current_context or found.current_context
    for cluster in found.clusters:
        merged.clusters.setdefault(cluster.name, (cluster.cluster, path))
    for user in found.users:
        merged.users.setdefault(user.name, (user.user, path))
    for context in found.contexts:
        merged.contexts.setdefault(context.name, (context.context, path))


def _parse(text: bytes, path: Path) -> _File:
    if len(text) > _SIZE_LIMIT:
        raise ConfigError([Problem("", "too large for a kubeconfig")], str(path))
    try:
        tree = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        # Not the mark's own text: it quotes the line, and a token may stand in it.
        raise ConfigError([Problem("", error.problem or "not YAML", line)], str(path)) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ConfigError([Problem("", "not YAML")], str(path)) from None
    if tree is None:
        return _File()
    try:
        found = msgspec.convert(_without_nulls(tree), _File)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise ConfigError([Problem(where.strip(".`"), what)], str(path)) from None
    if found.kind not in ("", "Config"):
        raise ConfigError([Problem("kind", f"{found.kind!r} is no kubeconfig")], str(path))
    return found


def _without_nulls(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(item) for item in tree]
    return tree


def names(entries: Mapping[str, object]) -> str:
    """``"a", "b"``, for messages."""
    return ", ".join(_quoted(entries)) or "none at all"


def _quoted(entries: Mapping[str, object]) -> Iterator[str]:
    return (f'"{name}"' for name in sorted(entries))
