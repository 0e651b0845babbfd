"""Settings for every test.

Property tests draw the same examples in every run, so a red build is red for everyone. To look for
new failures: ``make test ARGS="tests/properties --hypothesis-profile=search"``.
"""

import pytest
from hypothesis import HealthCheck, settings

from bayplan.errors import BinariesMissing
from bayplan.testing.control_plane import Binaries, find_binaries

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


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The programs of a real control plane; without them the test is skipped with the line that says how to get them."""
    try:
        return find_binaries()
    except BinariesMissing as missing:
        pytest.skip(str(missing))
