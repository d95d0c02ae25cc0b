"""The real thing, once: a change held against both of its releases, where the environment for them exists."""

import pytest

from gdnbench.conform.jobs import jobs
from gdnbench.conform.run import run
from gdnbench.oracle.environment import release_python
from gdnbench.values.errors import EnvironmentMissing


@pytest.mark.slow
@pytest.mark.parametrize("change", [51913, 41873])
def test_both_sides_are_what_the_releases_are(change: int) -> None:
    try:
        release_python()
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    rows = [row for row, _ in run(jobs([change], random=20))]
    assert {row.side for row in rows} == {"before", "after"}
    for row in rows:
        assert row.conforms, row.first_mismatch
        assert not row.drivable or row.scenarios >= 20
