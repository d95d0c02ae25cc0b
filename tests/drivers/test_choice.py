"""Which variants a step can be driven with."""

from __future__ import annotations

import pytest

from gdnbench.drivers.choice import choose_part, driver_class
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse


def test_a_fault_is_for_live_servers_only():
    fault, change = parse("fault:crash"), parse("pr51913.after")
    with pytest.raises(UserError, match="gdnbench serve"):
        choose_part((change, fault))
    with pytest.raises(UserError, match="gdnbench serve"):
        driver_class(fault, "build", 51913)
    assert choose_part((change,)) == "build"
