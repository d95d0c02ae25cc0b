"""Quantiles of Student's t, against scipy's."""

import numpy as np
import pytest
from scipy.stats import t

from gdnbench.stats.student import two_sided


@pytest.mark.parametrize(("freedom", "off"), [(9, 0.01), (15, 0.001), (30, 0.0001), (99, 0.0001)])
@pytest.mark.parametrize("error", [0.05, 1e-3, 2e-5, 1e-6])
def test_quantiles_are_near_scipys(error: float, freedom: int, off: float) -> None:
    assert float(two_sided(error, freedom)) == pytest.approx(t.isf(error / 2, freedom), rel=off)


def test_many_degrees_of_freedom_at_once() -> None:
    found = two_sided(0.01, np.array([9, 30, 99]))
    assert found.shape == (3,)
    assert (np.diff(found) < 0).all()
