"""Which variants a step can be driven with."""

from __future__ import annotations

import pytest

from gdnbench.drivers.choice import choose_part, driver_class
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("crash", "gdnbench serve"),
        ("stale-prefilling", "gdnbench faults"),
        ("rotated-state", "did you mean fault:rotated-states"),
        ("nonsense", "known: stale-prefilling"),
    ],
)
def test_faults_that_are_no_builder_of_a_step_are_refused(name, says):
    fault, change = parse(f"fault:{name}"), parse("pr51913.after")
    with pytest.raises(UserError, match=says):
        choose_part((change, fault))
    with pytest.raises(UserError, match=says):
        driver_class(fault, "build", 51913)


def test_a_fault_of_a_builder_is_driven_like_a_change():
    fault, change = parse("fault:rotated-states"), parse("pr51913.after")
    assert choose_part((fault, fault)) == "build"
    assert driver_class(fault, "build") is not None
    assert fault.state == "fault:rotated-states"
    assert choose_part((change,)) == "build"
