"""Reading a control file: histograms, and what happened between two moments."""

from __future__ import annotations

from math import log
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdnbench.plugin import layout
from gdnbench.plugin.control import Control
from gdnbench.plugin.snapshot import Snapshot, median_us
from gdnbench.values.coverage import Kind, total

ROLES = ("before", "after")


@given(st.lists(st.integers(1, 10_000_000_000), min_size=1, max_size=60))
def test_the_median_of_a_histogram_is_exact_to_five_percent(values):
    histogram = [0] * layout.BUCKETS
    for value in values:
        histogram[int(log(value) / log(layout.BUCKET_RATIO))] += 1
    found = median_us(histogram)
    assert found is not None
    assert found * 1000 == pytest.approx(median(values), rel=0.0251)


def test_an_empty_histogram_has_no_median():
    assert median_us([0] * layout.BUCKETS) is None


counts = st.dictionaries(st.sampled_from(sorted(range(10)) + list(range(16, 40))), st.integers(0, 1000), max_size=8)


@settings(max_examples=40)
@given(earlier=st.tuples(counts, counts), between=st.tuples(counts, counts))
def test_what_happened_in_between_is_the_difference(tmp_path_factory, earlier, between):
    with Control.create(tmp_path_factory.mktemp("control") / "control", ROLES) as control:

        def add(roles):
            for number, words in enumerate(roles):
                for word, count in words.items():
                    control.words[layout.role_at(number) + word] += count
            return control.snapshot()

        first, second = add(earlier), add(between)
    found = second.since(first)
    assert found.steps_begun == second.steps_begun - first.steps_begun == sum(w.get(layout.BEGUN, 0) for w in between)
    assert found.mixed_steps == sum(words.get(layout.MIXED, 0) for words in between)
    for number, role in enumerate(ROLES):
        assert found.builds(role) == second.builds(role) - first.builds(role)
        assert found.builds(role) == sum(n for word, n in between[number].items() if word > layout.CELLS)


def cell(control: Control, role: int, kind: Kind, staged: bool, *nanoseconds: int) -> None:
    first = layout.cell_at(role, kind, staged)
    for value in nanoseconds:
        control.words[first] += value
        control.words[first + 1 + int(log(value) / log(layout.BUCKET_RATIO))] += 1


def test_coverage_lists_what_came_by_kind_and_staging(tmp_path):
    with Control.create(tmp_path / "control", ROLES) as control:
        cell(control, 1, Kind.DECODE, False, 4000, 4000, 13_000)
        cell(control, 1, Kind.DECODE, True, 12_000)
        cell(control, 1, Kind.SPECULATIVE, False, 90_000)
        snapshot = control.snapshot()
    found = snapshot.coverage("after")
    assert [(one.kind, one.staged, one.builds) for one in found] == [
        (Kind.DECODE, False, 3),
        (Kind.DECODE, True, 1),
        (Kind.SPECULATIVE, False, 1),
    ]
    assert found[0].mean_us == 7.0
    assert found[0].median_us == pytest.approx(4.0, rel=0.025)
    assert snapshot.builds("after") == total(found) == 5
    assert snapshot.builds("before") == 0 and snapshot.coverage("before") == ()


def test_fields_that_differed_are_named_if_any_build_differed_since(tmp_path):
    with Control.create(tmp_path / "control", ROLES) as control:
        control.tell({"fields": ["a", "b", "c"]})
        start = control.snapshot()
        control.words[layout.role_at(0) + layout.COMPARED] += 4
        control.words[layout.role_at(0) + layout.DIFFERENT] += 2
        control.words[layout.role_at(0) + layout.FIELDS] |= 0b101
        middle = control.snapshot()
        control.words[layout.role_at(0) + layout.COMPARED] += 1
        end = control.snapshot()
    since = middle.since(start)
    assert (since.compared, since.different, since.different_fields) == (4, 2, ("a", "c"))
    since = end.since(middle)
    assert (since.compared, since.different, since.different_fields) == (1, 0, ())


def test_a_snapshot_is_a_copy(tmp_path):
    with Control.create(tmp_path / "control", ROLES) as control:
        snapshot = control.snapshot()
        control.words[layout.role_at(0) + layout.BEGUN] += 1
        assert isinstance(snapshot, Snapshot) and snapshot.steps_begun == 0
