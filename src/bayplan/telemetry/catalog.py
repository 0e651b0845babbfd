"""Every metric by name, type, labels and buckets.

Those called ``scheduler_*``, ``rest_client_*`` and ``leader_election_*`` are Kubernetes' (pkg/scheduler/metrics/metrics.go and
component-base of 1.36.4), so that existing dashboards and alerts work; those called ``bayplan_*`` are ours. Read by ``metrics``.
"""

from __future__ import annotations

from typing import Final

from bayplan.telemetry.instruments import Spec, exponential

# Attempts ------------------------------------------------------------------------------------------------------------------

SCHEDULE_ATTEMPTS: Final = Spec(
    "scheduler_schedule_attempts_total",
    "counter",
    "Attempts to schedule pods by result: 'unschedulable' where no node fits, 'error' where the scheduler itself failed.",
    ("result", "profile"),
    level="STABLE",
)
ATTEMPT_DURATION: Final = Spec(
    "scheduler_scheduling_attempt_duration_seconds",
    "histogram",
    "Seconds from taking a pod off the queue to the end of the attempt, binding included.",
    ("result", "profile"),
    exponential(0.001, 2, 15),
    "STABLE",
)
ALGORITHM_DURATION: Final = Spec(
    "scheduler_scheduling_algorithm_duration_seconds",
    "histogram",
    "Seconds that choosing a node took.",
    buckets=exponential(0.001, 2, 15),
    level="ALPHA",
)
GANG_ATTEMPTS: Final = Spec(
    "scheduler_podgroup_schedule_attempts_total",
    "counter",
    "Attempts to schedule pod groups by result: 'waiting_on_preemption' where room is being made.",
    ("result", "profile"),
    level="ALPHA",
)
GANG_ATTEMPT_DURATION: Final = Spec(
    "scheduler_podgroup_scheduling_attempt_duration_seconds",
    "histogram",
    "Seconds that deciding a pod group took, all its members together.",
    ("result", "profile"),
    exponential(0.001, 2, 15),
    "ALPHA",
)
POD_ATTEMPTS: Final = Spec(
    "scheduler_pod_scheduling_attempts",
    "histogram",
    "Attempts that a pod needed until it was scheduled.",
    buckets=exponential(1, 2, 5),
    level="STABLE",
)
POD_SLI: Final = Spec(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "histogram",
    "Seconds from when a pod first could be scheduled to when it was, over all its attempts.",
    ("attempts",),
    exponential(0.01, 2, 20),
    "BETA",
)
SCHEDULED_AFTER_FLUSH: Final = Spec(
    "scheduler_pod_scheduled_after_flush_total",
    "counter",
    "Pods that were scheduled only after the timed flush of unschedulable pods: an event that should have woken them did not.",
    level="ALPHA",
)

# Plugins -------------------------------------------------------------------------------------------------------------------

EXTENSION_POINT_DURATION: Final = Spec(
    "scheduler_framework_extension_point_duration_seconds",
    "histogram",
    "Seconds that all plugins of an extension point took together.",
    ("extension_point", "status", "profile"),
    exponential(0.0001, 2, 12),
    "STABLE",
)
PLUGIN_DURATION: Final = Spec(
    "scheduler_plugin_execution_duration_seconds",
    "histogram",
    "Seconds that one plugin took at an extension point.",
    ("plugin", "extension_point", "status"),
    exponential(0.00001, 1.5, 20),
    "ALPHA",
)
PLUGIN_EVALUATIONS: Final = Spec(
    "scheduler_plugin_evaluation_total",
    "counter",
    "Attempts in which a plugin was asked, at PreFilter, Filter, PreScore and Score.",
    ("plugin", "extension_point", "profile"),
    level="BETA",
)
PERMIT_WAIT: Final = Spec(
    "scheduler_permit_wait_duration_seconds",
    "histogram",
    "Seconds that pods were held back by Permit.",
    ("result",),
    exponential(0.001, 2, 15),
    "BETA",
)

# Preemption ----------------------------------------------------------------------------------------------------------------

PREEMPTION_ATTEMPTS: Final = Spec(
    "scheduler_preemption_attempts_total",
    "counter",
    "Times that preemption was tried for a pod that fits nowhere.",
    level="STABLE",
)
PREEMPTION_VICTIMS: Final = Spec(
    "scheduler_preemption_victims",
    "histogram",
    "Pods chosen for eviction per preemption.",
    buckets=exponential(1, 2, 7),
    level="STABLE",
)
PREEMPTION_TASKS: Final = Spec(
    "scheduler_preemption_goroutines_execution_total",
    "counter",
    "Evictions of all victims of a preemption, carried out beside the scheduling.",
    ("result",),
    level="ALPHA",
)
PREEMPTION_TASK_DURATION: Final = Spec(
    "scheduler_preemption_goroutines_duration_seconds",
    "histogram",
    "Seconds that evicting all victims of a preemption took.",
    ("result",),
    exponential(0.01, 2, 20),
    "ALPHA",
)

# Queue and cache -----------------------------------------------------------------------------------------------------------

PENDING_PODS: Final = Spec(
    "scheduler_pending_pods",
    "gauge",
    "Pods that wait, by queue: 'active' next, 'backoff' after a pause, 'unschedulable' until something changes, "
    "'gated' until they may be tried at all.",
    ("queue",),
    level="STABLE",
)
UNSCHEDULABLE_PODS: Final = Spec(
    "scheduler_unschedulable_pods",
    "gauge",
    "Unschedulable pods by the plugins that rejected them; a pod counts once for each of them.",
    ("plugin", "profile"),
    level="BETA",
)
QUEUE_INCOMING: Final = Spec(
    "scheduler_queue_incoming_pods_total",
    "counter",
    "Pods put into a queue, by the event that put them there.",
    ("queue", "event"),
    level="STABLE",
)
HINT_DURATION: Final = Spec(
    "scheduler_queueing_hint_execution_duration_seconds",
    "histogram",
    "Seconds that a plugin took to say whether an event helps a pod that it rejected.",
    ("plugin", "event", "hint"),
    exponential(0.00001, 1.5, 20),
    "ALPHA",
)
EVENT_HANDLING_DURATION: Final = Spec(
    "scheduler_event_handling_duration_seconds",
    "histogram",
    "Seconds that taking in a change of the cluster took.",
    ("event",),
    exponential(0.0001, 2, 12),
    "ALPHA",
)
INFLIGHT_EVENTS: Final = Spec(
    "scheduler_inflight_events",
    "gauge",
    "Events that are remembered for the sake of pods whose attempt is under way.",
    ("event",),
    level="ALPHA",
)
CACHE_SIZE: Final = Spec(
    "scheduler_cache_size",
    "gauge",
    "Nodes, pods on nodes, and pods on their way to a node that the scheduler knows.",
    ("type",),
    level="ALPHA",
)
GOROUTINES: Final = Spec(
    "scheduler_goroutines",
    "gauge",
    "Tasks that run beside the scheduling, by what they do.",
    ("operation",),
    level="BETA",
)

# Volumes -------------------------------------------------------------------------------------------------------------------

VOLUME_CACHE_REQUESTS: Final = Spec(
    "scheduler_volume_binder_cache_requests_total",
    "counter",
    "Operations on the record of volumes that are being bound.",
    ("operation",),
    level="ALPHA",
)
VOLUME_STAGE_ERRORS: Final = Spec(
    "scheduler_volume_scheduling_stage_error_total",
    "counter",
    "Failures while volumes were chosen, reserved or bound.",
    ("operation",),
    level="ALPHA",
)

# API client and leader election --------------------------------------------------------------------------------------------

REST_REQUESTS: Final = Spec(
    "rest_client_requests_total",
    "counter",
    "Requests to the API server by status code.",
    ("code", "method", "host"),
    level="ALPHA",
)
REST_DURATION: Final = Spec(
    "rest_client_request_duration_seconds",
    "histogram",
    "Seconds until the API server answered.",
    ("verb", "host"),
    (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),
    "ALPHA",
)
REST_RETRIES: Final = Spec(
    "rest_client_request_retries_total",
    "counter",
    "Requests to the API server that were sent again.",
    ("code", "verb", "host"),
    level="ALPHA",
)
LEADER: Final = Spec(
    "leader_election_master_status",
    "gauge",
    "1 for the instance that holds the lease, 0 for those that stand by.",
    ("name",),
    level="ALPHA",
)

# bayplan's own -------------------------------------------------------------------------------------------------------------

BUILD_INFO: Final = Spec(
    "bayplan_build_info",
    "gauge",
    "Always 1; the labels say what is running.",
    ("version", "python_version", "kubernetes_version"),
)
BIND_CONFLICTS: Final = Spec(
    "bayplan_bind_conflicts_total",
    "counter",
    "Bindings that were refused by the API server, or not sent since a race was lost, by what was in the way.",
    ("kind",),
)
STANDING_IN: Final = Spec(
    "bayplan_standing_in",
    "gauge",
    "1 for a standby's profile whose own scheduler is gone, so that it is served here; 0 while that one lives.",
    ("profile",),
)
DATA_AGE: Final = Spec(
    "bayplan_data_age_seconds",
    "gauge",
    "Seconds since a provider last said a value of this column of live data.",
    ("column",),
)
ELASTIC_QUOTA: Final = Spec(
    "bayplan_elastic_quota",
    "gauge",
    "Elastic quotas in cores, bytes and pieces: what pods of the namespace use, what it is sure of, may use at most, has borrowed.",
    ("namespace", "resource", "amount"),
)
OLDEST_PENDING: Final = Spec(
    "bayplan_oldest_pending_pod_seconds",
    "gauge",
    "Seconds since the pod that waits longest could first be scheduled, by the queue that it is in; gated pods: since they came.",
    ("queue",),
)
EXTENDER_CALLS: Final = Spec(
    "bayplan_extender_call_duration_seconds",
    "histogram",
    "Calls of foreign extenders, by what came of them: ok, error.",
    ("extender", "verb", "result"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
EXTENDER_REQUESTS: Final = Spec(
    "bayplan_extender_request_duration_seconds",
    "histogram",
    "Requests to our own extender, by what came of them: ok, late, error, refused.",
    ("verb", "result"),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
LOOP_STALL: Final = Spec(
    "bayplan_event_loop_stall_seconds",
    "histogram",
    "Stretches in which the event loop answered nobody.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
CLASS_LOOKUPS: Final = Spec(
    "bayplan_class_lookups_total",
    "counter",
    "Attempts by whether an alike pod had been judged before ('hit') or everything was judged afresh ('miss').",
    ("result",),
)
WATCH_RESTARTS: Final = Spec(
    "bayplan_watch_restarts_total",
    "counter",
    "Watches that ended and were begun again, by kind of object and cause.",
    ("resource", "cause"),
)
OBJECTS_SKIPPED: Final = Spec(
    "bayplan_objects_skipped_total",
    "counter",
    "Objects from the API server that could not be read and were left out.",
    ("resource",),
)
EVENTS_DROPPED: Final = Spec(
    "bayplan_events_dropped_total",
    "counter",
    "Kubernetes events that were not written, by cause.",
    ("cause",),
)
DECISIONS_LOST: Final = Spec(
    "bayplan_decision_records_lost_total",
    "counter",
    "Records of decisions that could not be written to the log of decisions.",
)
PLUGIN_INTERRUPTS: Final = Spec(
    "bayplan_plugin_interrupts_total",
    "counter",
    "Plugins that ran for too long and were interrupted.",
    ("plugin",),
)
RELOADS: Final = Spec(
    "bayplan_reloads_total",
    "counter",
    "Times that the configuration or its plugins were read again, by what came of it.",
    ("outcome",),
)
GENERATION: Final = Spec(
    "bayplan_configuration_generation",
    "gauge",
    "Which reading of the configuration decides; 1 is that of the start.",
)
SHADOW_DECISIONS: Final = Spec(
    "bayplan_shadow_decisions_total",
    "counter",
    "Pods that another profile has decided for comparison, by how the two compare.",
    ("profile", "shadow", "verdict"),
)
COLUMN_DIFFERENCES: Final = Spec(
    "bayplan_column_differences_total",
    "counter",
    "Differences between the columns and the API server that a comparison found.",
    ("kind",),
)
SERIES_OVERFLOWS: Final = Spec(
    "bayplan_metric_series_overflows_total",
    "counter",
    "Observations that went to a series called 'other' because their metric has too many series already.",
    ("metric",),
)
