"""What may be written, and what the server adds to it: defaults, validation, admission. Pure; called by the store alone.

On every write, in this order: ``defaults`` (custom resources: ``custom_schemas``), ``priorities``, ``validation`` with
``names`` and ``pod_validation``, ``quotas``.
"""
