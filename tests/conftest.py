"""Settings for every test.

Property tests draw the same examples in every run, so a red build is red for everyone. To look for
new failures: ``make test ARGS="tests/properties --hypothesis-profile=search"``.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=100,
    # Speaks up by the speed of the machine, which is no property of the code.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search",
    settings.get_profile("repeatable"),
    derandomize=False,
    max_examples=2_000,
    print_blob=True,
)
settings.load_profile("repeatable")
