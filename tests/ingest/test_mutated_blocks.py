"""Blocks damaged in every way that a paste knows: never a traceback, and never a wrong figure taken as right."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gdnbench.report.check import print_json, print_tables
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict
from pasted import AFTER, BEFORE, FAST_ALONE, SLOW_ALONE, asked, block, written

SIGNS = {
    "1393.52": lambda name, value: written(name, value),
    "1,393.52": lambda name, value: f"{int(value):,}" if written(name, value).isdigit() else f"{value:,.2f}",
    "1393,52": lambda name, value: written(name, value).replace(".", ","),
    "1.393,52": lambda name, value: SIGNS["1,393.52"](name, value).translate(str.maketrans(",.", ".,")),
    "1 393,52": lambda name, value: SIGNS["1.393,52"](name, value).replace(".", "\u202f"),
    "1'393.52": lambda name, value: SIGNS["1,393.52"](name, value).replace(",", "'"),
}
SEPARATORS = (": ", " = ", "|", "\t", ";", ",", "  ", " ", " \u2192 ", "")
MARKS = ("", "> ", "    ", "- ", "* ", "\x1b[31m", "| ", "# ", "1. ")
PUBLISHED = (SLOW_ALONE, FAST_ALONE, BEFORE, AFTER)

LOG = "Starting main benchmark run...\n100%|\u2588\u2588\u2588| 960/960 [03:26<00:00,  4.65it/s]\n"

Lines = list[str]


@st.composite
def damaged(draw):
    """A text of one to three blocks, with up to two kinds of damage to each and then to all of it.

    Beside it: whether the blocks are still parted by their first and last lines. Where they are not, lines of two of
    them may look like one, and nobody could tell.
    """
    write = SIGNS[draw(st.sampled_from(sorted(SIGNS)))]
    chosen = draw(st.lists(st.sampled_from(PUBLISHED), min_size=1, max_size=3))
    text, parted = "", True
    for number, found in enumerate(chosen):
        label = draw(st.sampled_from(("", "Main:\n", "This PR\n", "## after\n", "concurrency 7\n", LOG)))
        lines = block(found, write=write).splitlines()
        if draw(st.booleans()):
            lines = [line.rstrip() for line in lines]
        for _ in range(draw(st.integers(0, 2))):
            lines = draw(st.sampled_from(DAMAGES))(draw, lines)
        parted &= signs_of(lines) == [0, len(lines) - 1]
        text += label + "\n".join(lines) + ("\n" if number + 1 < len(chosen) or draw(st.booleans()) else "")
    if draw(st.booleans()):
        start, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        text = text[start:] if draw(st.booleans()) else text[:end]
    return text, parted


def signs_of(lines: Lines) -> list[int]:
    """The places of lines with which a block begins or ends."""
    return [place for place, line in enumerate(lines) if line.strip().startswith("=")]


def reordered(draw, lines: Lines) -> Lines:
    return draw(st.permutations(lines))


def cut_in_lines(draw, lines: Lines) -> Lines:
    start = draw(st.integers(0, len(lines)))
    return lines[start:] if draw(st.booleans()) else lines[:start]


def left_out(draw, lines: Lines) -> Lines:
    gone = draw(st.sets(st.integers(0, len(lines)), max_size=8))
    return [line for number, line in enumerate(lines) if number not in gone]


def doubled(draw, lines: Lines) -> Lines:
    twice = draw(st.sets(st.integers(0, len(lines)), max_size=8))
    return [line for number, line in enumerate(lines) for _ in range(1 + (number in twice))]


def whole_twice(draw, lines: Lines) -> Lines:
    return lines * 2


def narrow(draw, lines: Lines) -> Lines:
    width = draw(st.integers(20, 55))
    return [line[:width] for line in lines]


def other_separator(draw, lines: Lines) -> Lines:
    sign = draw(st.sampled_from(SEPARATORS))
    halves = [line.rpartition(":") for line in lines]
    return [f"{label}{sign}{value.strip()}" if colon else value for label, colon, value in halves]


def marked(draw, lines: Lines) -> Lines:
    mark = draw(st.sampled_from(MARKS))
    return [mark + line for line in lines]


def blank_lines(draw, lines: Lines) -> Lines:
    return [each for line in lines for each in (line, "")]


def unmarked(draw, lines: Lines) -> Lines:
    """Without the lines of signs at beginning and end: what follows runs into it."""
    return [line for line in lines if not line.startswith("=")]


def beside(draw, lines: Lines) -> Lines:
    """A second block to the right of it, as two windows are copied together."""
    other = block(draw(st.sampled_from(PUBLISHED))).splitlines()
    gap = draw(st.sampled_from(("  ", " | ", "\t", "")))
    return [f"{own}{gap}{theirs}" for own, theirs in zip(lines, other, strict=False)]


def wrapped(draw, lines: Lines) -> Lines:
    """Broken by a narrow window, the rest on a line of its own."""
    width = draw(st.integers(20, 49))
    return [part for line in lines for part in (line[:width], line[width:]) if part]


def spaced(draw, lines: Lines) -> Lines:
    """Blanks and tabs where there was one blank, or none of them."""
    blank = draw(st.sampled_from(("", " ", "\t", "\u00a0", "\u2009", "   ")))
    return [blank.join(line.split()) for line in lines]


DAMAGES = (
    reordered, cut_in_lines, left_out, doubled, whole_twice, narrow, other_separator, marked, blank_lines, unmarked,
    beside, wrapped, spaced,
)  # fmt: skip


def narrowed(found, write, width: int) -> str:
    return "".join(f"{line[:width]}\n" for line in block(found, write=write).splitlines())


def side_by_side(found, other, width: int) -> str:
    """A block that a narrow window wrapped, with another one to its right."""
    left = [part for line in block(found).splitlines() for part in (line[:width], line[width:].ljust(width)) if part]
    return "\n".join(f"{own}  {theirs}" for own, theirs in zip(left, block(other).splitlines(), strict=False)) + "\n"


@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(damaged())
@example((side_by_side(SLOW_ALONE, FAST_ALONE, 45), False))
@example(("output token throughput (tok/s):    585.00", False))
@example((narrowed(SLOW_ALONE, SIGNS["1,393.52"], 45), True))
@example((narrowed(BEFORE, SIGNS["1,393.52"], 45), True))
def test_no_damage_makes_a_wrong_figure(damaged_text):
    text, parted = damaged_text
    try:
        found = asked(text)
    except UserError as refusal:
        assert "\n" not in str(refusal)
        return
    for record in found.records:
        spoiled = {name for fault in record.faults for name in fault.metrics}
        sound = {(name, value) for name, value in record.metrics.items() if name not in spoiled}
        assert all(any(one.get(name) == value for one in PUBLISHED) for name, value in sound), f"{sound} of {text!r}"
        of_one = any(sound <= set(one.items()) for one in PUBLISHED)
        assert of_one or not parted or record.faults, f"{sound} of two blocks of {text!r}"
    assert all(pair.verdict in (Verdict.UNKNOWN, Verdict.INVALID) for pair in found.pairs), "one run a side"


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_what_is_left_of_damaged_blocks_can_be_shown(damaged_text):
    try:
        found = asked(damaged_text[0])
    except UserError:
        return
    print_tables(found)
    print_json(found)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.text(max_size=400) | st.lists(st.sampled_from([*"|-:.,0123456789 \n{}[]#>*`", "TTFT", "before"])).map("".join)
)
def test_no_text_makes_a_traceback(text):
    try:
        found = asked(text)
    except UserError as refusal:
        assert str(refusal)
    else:
        print_json(found)
