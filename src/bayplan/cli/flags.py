"""The flags of ``bayplan run``: kube-scheduler's own names wherever it has such a flag.

So a kube-scheduler's command line can be taken over as it is. What has no meaning here is accepted, hidden from the help, and
remarked on in the log; what nobody has heard of is refused with the nearest name. What flags come to is in
``bayplan.app.options``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from bayplan.framework.config.durations import format_duration, parse_duration

if TYPE_CHECKING:
    from bayplan.app import Options

F = TypeVar("F", bound=Callable[..., Any])


class Duration(click.ParamType[timedelta]):
    """A length of time as Go writes it, ``1m30s``."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Level(click.ParamType[int]):
    """``-v 5``, ``-v=5`` and ``--v=5`` alike."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).removeprefix("=")
        if not text.isdecimal():
            self.fail(f"{text!r} is not a number", param, ctx)
        return int(text)


class _Gates(click.ParamType[Mapping[str, bool]]):
    """``A=true,B=false``."""

    name = "mapStringBool"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Mapping[str, bool]:
        gates = {}
        for pair in filter(None, (part.strip() for part in str(value).split(","))):
            name, _, state = pair.partition("=")
            if state.lower() not in ("true", "false"):
                self.fail(f"missing bool value for {name!r}: say {name}=true", param, ctx)
            gates[name.strip()] = state.lower() == "true"
        return gates


_FILE: Final = click.Path(path_type=Path)
#: A Go flag: bare it is true, and a value comes after ``=``.
_BOOL: Final[dict[str, Any]] = {"type": bool, "is_flag": False, "flag_value": True}

_FLAGS: Final = (
    click.option("--config", type=_FILE, help="A KubeSchedulerConfiguration."),
    click.option(
        "--write-config-to", type=_FILE, help="Write what the configuration comes to, and exit."
    ),
    click.option(
        "--kubeconfig", default="", help="How to reach the cluster; goes before the file's."
    ),
    click.option(
        "--master", default="", help="The API server's URL, in place of the kubeconfig's."
    ),
    click.option("--context", default="", help="The kubeconfig's context."),
    click.option("--scheduler-name", default="", help="Run this profile, or call the only one so."),
    click.option(
        "--leader-elect",
        "elect",
        default=None,
        **_BOOL,
        help="Whether a lease is needed to schedule.",
    ),
    click.option("--leader-elect-lease-duration", "lease_duration", type=Duration()),
    click.option("--leader-elect-renew-deadline", "renew_deadline", type=Duration()),
    click.option("--leader-elect-retry-period", "retry_period", type=Duration()),
    click.option(
        "--leader-elect-resource-lock",
        "resource_lock",
        type=click.Choice(["leases"]),
        default="leases",
    ),
    click.option("--leader-elect-resource-name", "lease_name"),
    click.option("--leader-elect-resource-namespace", "lease_namespace"),
    click.option("--dry-run", default=False, **_BOOL, help="Decide and say so, but write nothing."),
    click.option(
        "--take-over",
        default=False,
        **_BOOL,
        help="Serve default-scheduler though a kube-scheduler seems to run.",
    ),
    click.option(
        "--plugin-dir",
        "plugin_dirs",
        multiple=True,
        type=_FILE,
        help="A directory whose *.py files hold plugins.",
    ),
    click.option(
        "--logging-config",
        "logging",
        type=_FILE,
        default=None,
        help="A logging policy: which messages are shown in how much detail.",
    ),
    click.option(
        "--tracing-config-file",
        "tracing",
        type=_FILE,
        default=None,
        help="A TracingConfiguration: where OpenTelemetry spans go, and how many.",
    ),
    click.option("--kube-api-qps", "qps", type=float, help="Requests per second; 0: no limit."),
    click.option("--kube-api-burst", "burst", type=int, help="Requests at once after a pause."),
    click.option("--bind-address", default="0.0.0.0", show_default=True),
    click.option(
        "--secure-port",
        type=click.IntRange(0, 65_535),
        default=10_259,
        show_default=True,
        help="HTTPS; 0: none.",
    ),
    click.option(
        "--http-port",
        type=click.IntRange(0, 65_535),
        default=0,
        help="Health and metrics over plain HTTP; 0: none.",
    ),
    click.option("--http-bind-address", default="127.0.0.1", show_default=True),
    click.option("--tls-cert-file", "cert_file", default="", help="Read again when it changes."),
    click.option("--tls-private-key-file", "key_file", default=""),
    click.option(
        "--cert-dir", default="", help="Keeps the certificate that is made where none is given."
    ),
    click.option(
        "--client-ca-file",
        default="",
        help="Signs clients' certificates; else looked up in the cluster.",
    ),
    click.option(
        "--authentication-kubeconfig",
        default="",
        help="Whom to ask who a caller is; else --kubeconfig.",
    ),
    click.option("--authentication-skip-lookup", default=False, **_BOOL),
    click.option(
        "--authorization-kubeconfig",
        default="",
        help="Whom to ask what a caller may see; else --kubeconfig.",
    ),
    click.option(
        "--authorization-always-allow-paths",
        "open_paths",
        default="/healthz,/readyz,/livez",
        show_default=True,
    ),
    click.option(
        "--feature-gates",
        type=_Gates(),
        default="",
        help="Kubernetes' gates; those that bayplan cannot turn are remarked on.",
    ),
    click.option("-v", "--v", "verbosity", type=_Level(), default=0, help="More log, the higher."),
    click.option(
        "--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True
    ),
)

#: Flags of kube-scheduler that change nothing here.
_IGNORED: Final = (
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "contention-profiling",
    "disable-http2-serving",
    "disabled-metrics",
    "emulated-version",
    "emulation-forward-compatible",
    "http2-max-streams-per-connection",
    "kube-api-content-type",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "min-compatibility-version",
    "permit-address-sharing",
    "permit-port-sharing",
    "pod-max-in-unschedulable-pods-duration",
    "profiling",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
    "show-hidden-metrics-for-version",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-sni-cert-key",
    "vmodule",
)

#: Gates that concern a scheduler, and how bayplan behaves.
_GATES: Final = {
    **dict.fromkeys(
        (
            "InPlacePodVerticalScaling",
            "MatchLabelKeysInPodTopologySpread",
            "MatchLabelKeysInPodTopologySpreadSelectorMerge",
            "NodeDeclaredFeatures",
            "NodeInclusionPolicyInPodTopologySpread",
            "PodLevelResources",
            "SchedulerAsyncPreemption",
            "SchedulerPopFromBackoffQ",
            "SchedulerQueueingHints",
            "SidecarContainers",
        ),
        True,
    ),
    **dict.fromkeys(
        (
            "DynamicResourceAllocation",
            "GangScheduling",
            "GenericWorkload",
            "SchedulerAsyncAPICalls",
            "StorageCapacityScoring",
            "TaintTolerationComparisonOperators",
            "TopologyAwareWorkloadScheduling",
            "VolumeLimitScaling",
            "WorkloadAwarePreemption",
        ),
        False,
    ),
    # Turned on and off by ``options_of``.
    **dict.fromkeys(("ComponentFlagz", "ComponentStatusz"), None),
    # How decisions are reached, not which: no outcome shows it.
    **dict.fromkeys(("OpportunisticBatching", "NominatedNodeNameForExpectation"), None),
}


def scheduler_flags(command: F) -> F:
    """All flags, on a click command that takes them as keywords."""
    for name in _IGNORED:
        # Bare, or with a value of any kind.
        command = click.option(
            f"--{name}",
            _parameter(name),
            hidden=True,
            is_flag=False,
            flag_value="true",
            default=None,
        )(command)
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def options_of(given: Mapping[str, Any]) -> Options:
    """What the flags come to."""
    from bayplan.app import Lease, Options, Serving

    gates = given["feature_gates"]
    return Options(
        config=given["config"],
        kubeconfig=given["kubeconfig"],
        master=given["master"],
        context=given["context"],
        scheduler_name=given["scheduler_name"],
        lease=Lease(
            given["elect"],
            given["lease_duration"],
            given["renew_deadline"],
            given["retry_period"],
            given["lease_name"],
            given["lease_namespace"],
        ),
        serving=Serving(
            bind_address=given["bind_address"],
            secure_port=given["secure_port"],
            http_port=given["http_port"],
            http_bind_address=given["http_bind_address"],
            cert_file=given["cert_file"],
            key_file=given["key_file"],
            cert_dir=given["cert_dir"],
            authentication_kubeconfig=given["authentication_kubeconfig"],
            authorization_kubeconfig=given["authorization_kubeconfig"],
            client_ca_file=given["client_ca_file"],
            authentication_skip_lookup=given["authentication_skip_lookup"],
            always_allow_paths=tuple(filter(None, given["open_paths"].split(","))),
            flags=flag_texts(given) if gates.get("ComponentFlagz", True) else None,
            statusz=gates.get("ComponentStatusz", True),
        ),
        plugin_dirs=given["plugin_dirs"],
        logging=given["logging"],
        tracing=given["tracing"],
        dry_run=given["dry_run"],
        take_over=given["take_over"],
        qps=given["qps"],
        burst=given["burst"],
    )


def flag_texts(given: Mapping[str, Any]) -> dict[str, str]:
    """Each flag by its long name, with its value as Go writes it, for ``/flagz``."""
    command = scheduler_flags(click.Command("run"))
    found = {}
    for parameter in command.params:
        name = max(parameter.opts, key=len).lstrip("-")
        if parameter.name in given and not parameter.name.startswith("ignored_"):
            found[name] = _go_text(given[parameter.name])
    return found


def _go_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case timedelta():
            return format_duration(value)
        case tuple() | list():
            return f"[{','.join(map(str, value))}]"
        case dict():
            return ",".join(f"{name}={_go_text(each)}" for name, each in value.items())
        case _:
            return str(value)


def remarks(given: Mapping[str, Any]) -> Iterator[str]:
    """What was asked for and has no effect, one line each."""
    for name in _IGNORED:
        if given[_parameter(name)] is not None:
            yield f"--{name} has no effect in bayplan"
    for gate, wanted in given["feature_gates"].items():
        if gate not in _GATES:
            yield f"--feature-gates: {gate} is not known to bayplan and has no effect"
        elif _GATES[gate] is not None and wanted is not _GATES[gate]:
            state = "on" if _GATES[gate] else "off"
            yield f"--feature-gates: {gate} is {state} in bayplan and cannot be changed"


def _parameter(flag: str) -> str:
    return "ignored_" + flag.replace("-", "_")
