"""Foreign extenders as they are configured: their addresses checked, their certificates read, their webhooks ready.

Used by ``assembly``. What is wrong with an entry is said at the start, with its place in the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayplan.client.trust import Pem, Trust
from bayplan.client.webhook import Address, Webhook
from bayplan.errors import ConfigError, CredentialsError, Problem
from bayplan.framework.config.types import ExtenderTLSConfig
from bayplan.runtime.extending.extender import ForeignExtender
from bayplan.runtime.extending.whole_nodes import WholeNodes
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.framework.config.types import Extender
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)


def webhooks(extenders: Sequence[Extender], source: str = "") -> list[Webhook]:
    """A webhook for each entry.

    Raises:
        ConfigError: with everything that is wrong with them.
    """
    problems: list[Problem] = []
    made: list[Webhook] = []
    for number, extender in enumerate(extenders):
        place = f"extenders[{number}]"
        trust = _trust(extender, f"{place}.tlsConfig")
        try:
            address = Address.of(extender.url_prefix, extender.http_timeout.total_seconds())
            if address.is_secure:
                trust.context()
        except CredentialsError as error:
            problems.append(Problem(f"{place}.tlsConfig", str(error)))
        except ValueError as error:
            problems.append(Problem(f"{place}.urlPrefix", str(error)))
        else:
            _warn(extender, address)
            made.append(Webhook(address, trust))
    if problems:
        raise ConfigError(problems, source)
    return made


def _warn(extender: Extender, address: Address) -> None:
    if extender.enable_https and not address.is_secure:
        _log.warning(
            "enableHTTPS has no effect: the address says http", extender=extender.url_prefix
        )
    tls = extender.tls_config or ExtenderTLSConfig()
    if address.is_secure and not (tls.insecure or tls.ca_file or tls.ca_data):
        _log.info(
            "No authority is configured: the extender's certificate needs one that this machine believes "
            "(kube-scheduler would believe anybody; insecure: true does that here)",
            extender=extender.url_prefix,
        )


def _trust(extender: Extender, place: str) -> Trust:
    tls = extender.tls_config or ExtenderTLSConfig()
    return Trust(
        authority=_pem(tls.ca_data, tls.ca_file, f"{place}.ca"),
        certificate=_pem(tls.cert_data, tls.cert_file, f"{place}.cert"),
        key=_pem(tls.key_data, tls.key_file, f"{place}.key"),
        server_name=tls.server_name,
        insecure=tls.insecure,
    )


def _pem(data: bytes, file: str, place: str) -> Pem | None:
    """Data go before a file."""
    if data:
        return Pem(data=data, entry=f"{place}Data")
    return Pem(path=Path(file), entry=f"{place}File") if file else None


def foreign(
    extenders: Sequence[Extender],
    source: str,
    cluster: Cluster,
    nodes: WholeNodes,
    metrics: Metrics,
    clock: Clock,
) -> list[ForeignExtender]:
    """The extenders of a configuration, ready to be asked. Raises ``ConfigError``."""
    callers = webhooks(extenders, source)
    return [
        ForeignExtender(extender, caller, cluster, nodes, metrics, clock)
        for extender, caller in zip(extenders, callers, strict=True)
    ]
