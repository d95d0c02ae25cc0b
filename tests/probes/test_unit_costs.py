"""The units that a bound is made of."""

import torch

from gdnbench.probes.unit_costs import measure, operations


def test_every_operation_is_timed_and_does_something():
    device = torch.device("cpu")
    found = measure(device, times=50)
    assert found.keys() == operations(device).keys()
    assert found["one launch and new memory"] > 0
    assert operations(device)["one boolean index"]().shape == (16, 8)
