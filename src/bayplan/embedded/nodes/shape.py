"""The shape of a simulated cluster: groups of like nodes, from a number or from a file.

Read by ``bayplan cluster`` and ``bayplan demo``; ``making`` turns groups into nodes. A file looks like this::

    zones: [zone-a, zone-b, zone-c]     # round and round, for groups that name none
    nodes:
      - count: 12
        name: standard                  # standard-01, standard-02, ...
      - count: 2
        name: gpu
        zones: [zone-a]
        capacity: {cpu: 16, memory: 64Gi, pods: 110, nvidia.com/gpu: 4}
        labels: {accelerator: a100}
        taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import yaml

from bayplan.errors import ConfigError, Problem, QuantityError
from bayplan.model.quantity import milli_value

DEFAULT_CAPACITY: Final[dict[str, str | int]] = {"cpu": 8, "memory": "32Gi", "pods": 110}
DEFAULT_ZONES: Final = ("zone-a", "zone-b", "zone-c")
#: Found on every node, unless its group says otherwise.
_STORAGE: Final = {"ephemeral-storage": "100Gi"}


class Taint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """As in a node's spec."""

    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: str = ""


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many nodes of a kind."""

    count: Annotated[int, msgspec.Meta(ge=0)]
    name: str = "node"
    #: Empty: those of the whole cluster.
    zones: tuple[str, ...] = ()
    #: Beside the defaults; a number or a quantity each.
    capacity: dict[str, str | int | float] = {}
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()

    def amounts(self) -> dict[str, str]:
        """What a node has, as Kubernetes writes it."""
        whole = DEFAULT_CAPACITY | _STORAGE | self.capacity
        return {name: str(amount) for name, amount in whole.items()}


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole cluster."""

    nodes: tuple[Group, ...] = ()
    zones: tuple[str, ...] = DEFAULT_ZONES


def of_count(count: int) -> Shape:
    """So many like nodes."""
    return Shape((Group(count),))


def read(path: Path) -> Shape:
    """The shape that a file describes.

    Raises:
        ConfigError: it cannot be read, or says something impossible.
    """
    try:
        shape = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Shape)
    except OSError as error:
        raise _problem(path, "", f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise _problem(path, "", f"is no YAML: {error}") from error
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$")
        raise _problem(path, where.rstrip("`").lstrip("."), said) from error
    names = [group.name for group in shape.nodes]
    for number, group in enumerate(shape.nodes):
        if group.name in names[:number]:
            why = f'another group is called "{group.name}" already; give each its own name'
            raise _problem(path, f"nodes[{number}].name", why)
        for resource, amount in group.amounts().items():
            try:
                milli_value(amount)
            except QuantityError as error:
                where = f"nodes[{number}].capacity.{resource}"
                raise _problem(path, where, error.message) from error
    return shape


def _problem(path: Path, where: str, why: str) -> ConfigError:
    return ConfigError([Problem(where, why)], source=str(path))
