"""Amounts of resources in objects: whether they can be read, and adding them up for quotas.

Amounts are summed in nano-units, so nothing is lost, and written back in the unit they are usually shown in.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.embedded.objects import Object, as_object
from bayplan.embedded.refusals import FieldProblem, invalid_value
from bayplan.errors import QuantityError
from bayplan.model.label_syntax import key_problems
from bayplan.model.quantity import WRONG_FORMAT, nano_value

_NANO: Final = 10**9
_MILLI: Final = 10**6
_BINARY: Final = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def nano(amount: Any) -> int:
    """An amount in nano-units; 0 where it cannot be read."""
    try:
        return nano_value(amount)
    except (QuantityError, TypeError):
        return 0


def written(resource: str, nanos: int) -> str:
    """An amount as Kubernetes writes it: ``1500m``, ``2Gi``, ``3``."""
    if nanos % _NANO:
        return f"{-(-nanos // _MILLI)}m"
    whole = nanos // _NANO
    if "memory" in resource or "storage" in resource:
        for suffix, bits in _BINARY:
            if whole and whole % (1 << bits) == 0:
                return f"{whole >> bits}{suffix}"
    return str(whole)


def limits_problems(resources: Object, path: str) -> list[FieldProblem]:
    """What is wrong with a container's requests and limits.

    Raises:
        QuantityError: one of them is no amount at all.
    """
    found: list[FieldProblem] = []
    for side in ("limits", "requests"):
        for name, amount in as_object(resources.get(side)).items():
            where = f"{path}.{side}[{name}]"
            found += [invalid_value(where, name, said) for said in key_problems(name)]
            found += amount_problems(amount, where)
    if found:
        return found
    limits = as_object(resources.get("limits"))
    for name, amount in as_object(resources.get("requests")).items():
        if name in limits and nano(amount) > nano(limits[name]):
            said = f"must be less than or equal to {name} limit of {limits[name]}"
            found.append(invalid_value(f"{path}.requests", str(amount), said))
    return found


def amount_problems(amount: Any, where: str) -> list[FieldProblem]:
    """What is wrong with one amount.

    Raises:
        QuantityError: it is no amount at all.
    """
    if isinstance(amount, bool) or not isinstance(amount, (str, int, float)):
        raise QuantityError(WRONG_FORMAT)
    if nano_value(amount) < 0:
        return [invalid_value(where, str(amount), "must be greater than or equal to 0")]
    return []
