"""Another scheduler's configuration as ours, with an account of what stays, what changes and what has no counterpart.

``reading`` finds out what a file is; ``profiles`` turns a KubeSchedulerConfiguration (kube-scheduler's or scheduler-plugins')
over, ``volcano`` a volcano-scheduler.conf; both write a ``Draft``, which ``result`` checks as bayplan would load it.
"""
