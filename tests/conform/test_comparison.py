"""Any difference from a release is found and told in full; only a listed one is let through, and shown."""

import pytest
import sample_drivers
from sample_drivers import Ours, Theirs

from gdnbench.conform.comparison import Comparison
from gdnbench.conform.jobs import Job, Row
from gdnbench.drivers.registry import Part
from gdnbench.values.scenarios import parse

SCENARIOS = ("16q1s1k", "15q1s1k_q2k")


def compared(theirs: type[Theirs], *, foreign: tuple[str, ...] = (), operations: bool = True) -> Row:
    sides = ("before",) if operations else ("after",)
    part = Part("sample", "sample_drivers:Ours", f"sample_drivers:{theirs.__name__}", compares_operations=sides)
    comparison = Comparison(Job(1, "before", part, "0.29.0", foreign), Ours, theirs)
    for name in SCENARIOS:
        comparison.compare(parse(name))
    return comparison.finish()


def test_the_same_code_conforms() -> None:
    row = compared(Theirs)
    assert row.conforms
    assert (row.scenarios, row.field_mismatches, row.operation_mismatches, row.first_mismatch) == (2, 0, 0, "")


def test_another_value_is_told_with_scenario_field_and_both_values() -> None:
    row = compared(sample_drivers.OtherValue)
    assert row.field_mismatches == 2 * 2 * 2  # scenarios, devices, calls
    assert "16q1s1k on cpu, call 1" in row.first_mismatch
    assert "rows" in row.first_mismatch and "16" in row.first_mismatch and "17" in row.first_mismatch
    assert not row.conforms


def test_another_tensor_is_shown_with_its_values() -> None:
    row = compared(sample_drivers.OtherTensor, operations=False)
    assert "ours: [2048, 2048" in row.first_mismatch and "the release's: [7, 7" in row.first_mismatch


def test_a_difference_of_the_second_call_is_found() -> None:
    row = compared(sample_drivers.OtherOnSecondCall)
    assert row.field_mismatches == 2 * 2
    assert "call 2" in row.first_mismatch


def test_a_field_that_one_side_lacks_is_a_mismatch() -> None:
    assert "only ours has field rows" in compared(sample_drivers.LacksField).first_mismatch
    assert "only the release has field extra" in compared(sample_drivers.UndeclaredField).first_mismatch


def test_another_operation_is_told_with_its_neighbours() -> None:
    row = compared(sample_drivers.OtherOperation)
    assert (row.field_mismatches, row.operation_mismatches) == (0, 2 * 2)
    assert "operation 0 differs" in row.first_mismatch
    assert "aten.add.Tensor" in row.first_mismatch and "aten.mul.Tensor" in row.first_mismatch


def test_a_host_operation_more_is_a_mismatch() -> None:
    assert compared(sample_drivers.HostOperation).operation_mismatches == 4


def test_operations_of_a_rewrite_are_not_compared() -> None:
    row = compared(sample_drivers.HostOperation, operations=False)
    assert row.conforms
    assert "operations are not compared" in row.foreign[0]


def test_listed_foreign_operations_pass_and_are_shown() -> None:
    row = compared(sample_drivers.ForeignOperation, foreign=("a sum beside the change",))
    assert row.conforms
    assert row.foreign[0] == "a sum beside the change"
    assert any("aten.sum.default" in line and line.startswith("seen: host") for line in row.foreign)


def test_foreign_operations_that_nobody_listed_fail() -> None:
    row = compared(sample_drivers.ForeignOperation)
    assert not row.conforms
    assert "not listed" in row.first_mismatch and "aten.sum.default" in row.first_mismatch


def test_what_is_put_in_a_foreign_operations_place_is_shown() -> None:
    row = compared(sample_drivers.RewrittenOperation, foreign=("another operation beside the change",))
    assert row.conforms
    assert "seen: device aten.mul.Tensor left out (4)" in row.foreign
    assert "seen: device aten.add.Tensor put in (4)" in row.foreign


@pytest.mark.parametrize("theirs", [sample_drivers.RewrittenArguments, sample_drivers.ReversedOperations])
def test_no_rewriting_is_hidden(theirs: type[Theirs]) -> None:
    row = compared(theirs)
    assert not row.conforms
    assert "not listed" in row.first_mismatch or "operation 0 differs" in row.first_mismatch
    assert row.foreign


def test_listed_foreign_fields_pass_in_every_group_and_are_shown() -> None:
    row = compared(sample_drivers.ForeignField, foreign=("a field beside the change",))
    assert row.conforms
    assert "seen: field extra (16)" in row.foreign


def test_foreign_fields_that_nobody_listed_fail() -> None:
    assert not compared(sample_drivers.ForeignField).conforms


def test_an_input_that_only_one_side_changes_is_a_mismatch() -> None:
    row = compared(sample_drivers.ChangesInput, operations=False)
    assert "field input lengths" in row.first_mismatch


def test_a_step_that_fails_is_a_mismatch_with_its_reason() -> None:
    row = compared(sample_drivers.Raises)
    assert row.field_mismatches == 4
    assert "ValueError: what the release thinks of it" in row.first_mismatch
    assert "sample_drivers.py" in row.first_mismatch


def test_a_driver_that_cannot_be_made_is_a_mismatch() -> None:
    assert "ValueError: not made" in compared(sample_drivers.RaisesWhenMade).first_mismatch


def test_a_part_for_the_traced_device_alone_is_compared_there() -> None:
    row = compared(sample_drivers.TracedAlone)
    assert row.conforms and row.scenarios == 2


def test_comparing_nothing_is_no_conformance() -> None:
    part = Part("sample", "sample_drivers:Ours", "sample_drivers:Theirs")
    assert not Comparison(Job(1, "before", part, "0.29.0"), Ours, Theirs).finish().conforms
