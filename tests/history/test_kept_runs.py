"""Runs on disk: what is kept is given back, whoever writes at the same time and whatever is damaged."""

from __future__ import annotations

import errno
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from gdnbench.history.names import parse_name
from gdnbench.history.place import Place
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.runs import RunIdentity
from gdnbench.values.series import Series
from gdnbench.values.verdicts import Caveat, Verdict
from kept import STARTED, history, point, run, series

EVERYTHING = "SELECT * FROM points JOIN runs USING (run) ORDER BY position, run, series"


def values(place: Path | str) -> list[float]:
    """The values of all sound points, in order of time."""
    opened = history(place)
    return list(opened.tables(opened.listing().runs).query(EVERYTHING)["value"])


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "runs") if request.param == "local" else f"memory://{uuid.uuid4().hex}"


def test_a_run_is_given_back(place: str) -> None:
    given_run = run("a", seeds={"workload": 7}, flags=("--enforce-eager",), settings={"rate": math.inf, "n": [1]})
    opened = history(place)
    name, new = opened.record(given_run)
    (kept,) = opened.listing().runs
    assert new and str(kept.name) == name
    assert kept.identity == RunIdentity(**{**_fields(given_run.identity), "settings": {"rate": "inf", "n": [1]}})
    assert kept.verdict is Verdict.SAME
    tables = opened.tables([kept], samples=True)
    (row,) = tables.query("SELECT * FROM points").to_dict("records")
    expected = given_run.points[0].to_json()
    assert {key: row[key] for key in expected if expected[key] is not None} == {
        key: value for key, value in expected.items() if value is not None
    }
    assert row["series"] == series().id
    assert list(tables.query("SELECT value FROM samples ORDER BY launch")["value"]) == [12.0, 12.5, 13.0]


def _fields(identity: RunIdentity) -> dict[str, object]:
    return {name: getattr(identity, name) for name in identity.__dataclass_fields__}


TEXTS = st.text(max_size=30)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(TEXTS, TEXTS, st.floats(), st.lists(st.floats(allow_nan=False), max_size=3)), max_size=5),
    st.text(max_size=20),
)
def test_any_point_is_given_back(rows: list[tuple[str, str, float, list[float]]], flag: str) -> None:
    encodable = [
        (a.encode("utf-8", "replace").decode(), b.encode("utf-8", "replace").decode(), v, s) for a, b, v, s in rows
    ]
    points = {
        one.series: one
        for variant, load, value, samples in encodable
        if (one := point(value, series=series(variant, load), samples=tuple(samples)))
    }
    opened = history(f"memory://{uuid.uuid4().hex}")
    opened.record(run("a", *points.values(), flags=(flag,)))
    tables = opened.tables(opened.listing().runs, samples=True)
    found = {row["series"]: row for row in tables.query("SELECT * FROM points").to_dict("records")}
    if points:
        assert found.keys() == {one.id for one in points}
    for key, one in points.items():
        row = found[key.id]
        assert (row["variant"], row["load"]) == (key.variant, key.load)
        assert row["value"] == one.value if math.isfinite(one.value) else math.isnan(row["value"])
        kept = tables.query("SELECT value FROM samples WHERE series = ? ORDER BY launch", [key.id])["value"]
        assert list(kept) == list(one.samples)
    assert opened.verify()[1] == ()


def test_two_points_of_one_series_are_a_fault_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two points"):
        history(tmp_path).record(run("a", point(1.0), point(2.0)))
    assert not list(tmp_path.iterdir())


def test_the_same_measurement_is_kept_once(place: str) -> None:
    opened = history(place)
    first, again, other = opened.record(run("a")), opened.record(run("a")), opened.record(run("b"))
    assert (first[1], again[1], other[1]) == (True, False, True)
    assert first[0] == again[0] != other[0]
    assert len(opened.listing().runs) == 2


def _writer(place: str, token: str, start: float, barrier) -> None:
    barrier.wait()
    for number in range(5):
        history(place).record(run(f"{token}{number}", point(start + number)))


def test_two_nights_written_at_once_both_land(tmp_path: Path) -> None:
    """Two processes, every run of them started in the same second."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    writers = [
        context.Process(target=_writer, args=(str(tmp_path), token, start, barrier))
        for token, start in (("a", 0.0), ("b", 100.0))
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sorted(values(tmp_path)) == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
    listing, unsound = history(tmp_path).verify()
    assert not unsound
    assert not listing.warnings


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x40
    path.write_bytes(bytes(content))


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut-off points": (lambda path: _truncate(path / "points.parquet"), "points.parquet has"),
    "cut-off samples": (lambda path: _truncate(path / "samples.parquet"), "samples.parquet has"),
    "missing points": (lambda path: (path / "points.parquet").unlink(), "points.parquet is missing"),
    "no run.json": (lambda path: (path / "run.json").unlink(), "run.json is missing"),
    "empty run.json": (lambda path: (path / "run.json").write_text(""), "run.json is no whole JSON"),
    "cut-off run.json": (lambda path: _truncate(path / "run.json"), "run.json is no whole JSON"),
    "run.json that is a list": (lambda path: (path / "run.json").write_text("[]"), "run.json is no object"),
    "run.json without identity": (lambda path: (path / "run.json").write_text('{"schema": 1}'), "run.json is damaged"),
    "nested too deeply": (lambda path: (path / "run.json").write_text("[" * 100_000), "run.json is no whole JSON"),
    "a flipped bit": (lambda path: _flip(path / "points.parquet"), "its bytes are not those that were written"),
    "another name": (lambda path: path.rename(path.with_name("monday")), "a run under a name that is none of a run"),
    "half written": (lambda path: path.rename(path.with_name(".aside-x")), "half written"),
    "a folder alone": (lambda path: [one.unlink() for one in path.iterdir()], "run.json is missing"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_run_is_named_and_the_others_are_read(name: str, tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(run("a", point(1.0)))
    damaged, _ = opened.record(run("b", point(2.0)))
    opened.record(run("c", point(3.0)))
    damage, says = DAMAGE[name]
    damage(tmp_path / damaged)

    _, unsound = opened.verify()
    (one,) = unsound
    assert one.damaged
    assert says in one.reason
    listing = opened.listing()
    tables = opened.tables(listing.runs, samples=True)
    assert list(tables.query(EVERYTHING)["value"]) == [1.0, 3.0] or name == "cut-off samples"
    assert len(listing.skipped) + len(tables.skipped) == 1
    opened.record(run("d", point(4.0)))
    assert values(tmp_path)[-1] == 4.0


def test_a_table_that_is_whole_and_of_other_columns_is_named(tmp_path: Path) -> None:
    import hashlib

    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = history(tmp_path)
    name, _ = opened.record(run("a"))
    path = tmp_path / name / "points.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index("value"), "value", pa.array(["much"])), path)
    head = json.loads((tmp_path / name / "run.json").read_text())
    content = path.read_bytes()
    head["tables"]["points.parquet"] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (tmp_path / name / "run.json").write_text(json.dumps(head))
    assert "its column value holds string" in opened.verify()[1][0].reason
    assert values(tmp_path) == []


def test_a_schema_from_the_future_is_named_and_no_damage(tmp_path: Path) -> None:
    opened = history(tmp_path)
    later, _ = opened.record(run("a", point(1.0)))
    opened.record(run("b", point(2.0)))
    (tmp_path / later / "run.json").write_text(json.dumps({"schema": 99, "what": "nobody knows"}))
    (one,) = opened.listing().skipped
    assert one.name == later
    assert not one.damaged
    assert "schema 99 is of a later gdnbench" in one.reason
    assert values(tmp_path) == [2.0]


def test_keys_that_a_later_version_added_are_left_out(tmp_path: Path) -> None:
    opened = history(tmp_path)
    name, _ = opened.record(run("a"))
    path = tmp_path / name / "run.json"
    head = json.loads(path.read_text())
    head["weather"] = "rain"
    head["identity"] |= {"mood": "good"}
    path.write_text(json.dumps(head))
    assert [str(one.name) for one in opened.listing().runs] == [name]


def test_a_clock_that_went_backwards_is_told_and_changes_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdnbench.history import history as module

    class Clock(module.datetime):  # type: ignore[name-defined,misc]
        day = 3

        @classmethod
        def now(cls, tz=None):
            return cls(2026, 11, cls.day, 3, tzinfo=tz)

    monkeypatch.setattr(module, "datetime", Clock)
    opened = history(tmp_path)
    names = []
    for token, value, day in (("a", 1.0, 3), ("b", 2.0, 1), ("c", 3.0, 4)):
        Clock.day = day
        names.append(opened.record(run(token, point(value), started=f"2026-11-0{day}T02:00:00+00:00"))[0])
    listing = opened.listing()
    assert values(tmp_path) == [1.0, 2.0, 3.0]
    (caveat,) = listing.warnings
    assert names[1] in caveat.message and names[0] in caveat.message
    assert [one.position.day for one in listing.runs] == [3, 3, 4]
    assert [one.identity.when.day for one in listing.runs] == [3, 1, 4]


def test_imported_runs_stand_where_they_began(tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(run("a", point(5.0), started="2026-11-05T02:00:00+00:00"))
    for day in (7, 3):
        opened.record(run(f"i{day}", point(day), started=f"2026-11-0{day}T02:00:00+00:00", imported="asv"))
    assert values(tmp_path) == [3.0, 5.0, 7.0]
    assert not history(tmp_path).listing().warnings


def test_a_run_that_began_before_another_and_ended_after_it_is_no_clock_fault(tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(run("short", point(1.0), started="2026-11-01T02:30:00+00:00"))
    opened.record(run("long", point(2.0), started="2026-11-01T02:00:00+00:00"))
    assert values(tmp_path) == [1.0, 2.0]
    assert not opened.listing().warnings


class Full(MemoryFileSystem):  # type: ignore[misc]
    """A store that takes one file and then is full."""

    protocol = "full"
    store: dict = {}  # noqa: RUF012 - as the class that it is one of
    pseudo_dirs = [""]  # noqa: RUF012
    files = 0

    def pipe_file(self, path, value, **kwargs):
        type(self).files += 1
        if self.files > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().pipe_file(path, value, **kwargs)


def test_a_store_that_is_full_keeps_nothing_half(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("full", Full, clobber=True)
    with pytest.raises(EnvironmentMissing, match=r"No space left.*free some space") as raised:
        history("full://runs").record(run("a"))
    assert raised.value.exit_code == 4
    assert Place("full://runs").contents().runs == {}


ON_A_SMALL_DISK = """
import sys
from kept import history, point, run, series
from gdnbench.values.errors import EnvironmentMissing
opened = history(sys.argv[1])
try:
    for number in range(100):
        opened.record(run(str(number), *[point(float(i), series=series(load=f"{number} {i}")) for i in range(400)]))
except EnvironmentMissing as error:
    print(number, error)
listing, unsound = opened.verify()
assert not unsound, unsound
assert len(listing.runs) == number > 0, (len(listing.runs), number)
"""


def test_a_full_disk(tmp_path: Path) -> None:
    """A real one, of 192 KB."""
    script = tmp_path / "small.py"
    script.write_text(ON_A_SMALL_DISK)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=192k none {disk} && exec {sys.executable} {script} {disk}"
    root = Path(__file__).parents[2]
    where = {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}"}
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount],
        env=where,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no disk of one's own can be had here: {done.stderr.strip()[:80]}")
    assert done.returncode == 0, done.stderr
    assert "No space left on device): free some space" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EnvironmentMissing, match="cannot write to the history"):
        history(tmp_path / "runs").record(run("a"))


def test_a_file_where_the_history_should_be(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("hello")
    with pytest.raises(EnvironmentMissing, match="cannot write to the history"):
        history(tmp_path / "runs").record(run("a"))


def test_what_is_no_history_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no history"):
        history(tmp_path / "nowhere").listing()
    with pytest.raises(UserError, match="Protocol not known"):
        history("nonsense://x")


def test_names_and_characters_that_mean_something_elsewhere(tmp_path: Path) -> None:
    odd = tmp_path / "runs [of] 'today' *"
    history(odd).record(run("a", point(1.0)))
    assert values(odd) == [1.0]


def test_other_things_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(run("a", point(1.0)))
    (tmp_path / "states").mkdir()
    (tmp_path / "states" / "note.json").write_text("{}")
    (tmp_path / "README").write_text("ours")
    assert values(tmp_path) == [1.0]
    assert opened.verify()[1] == ()


def test_a_run_is_found_by_a_part_of_its_name(tmp_path: Path) -> None:
    opened = history(tmp_path)
    names = [opened.record(run(token))[0] for token in "ab"]
    listing = opened.listing()
    assert str(opened.find(listing, "00000002").name) == names[1]
    assert str(opened.find(listing, names[0]).name) == names[0]
    for text, says in (("step", "2 runs have"), ("zzz", "no run has")):
        with pytest.raises(UserError, match=says):
            opened.find(listing, text)


def test_a_name_reads_as_it_is_written(tmp_path: Path) -> None:
    text, _ = history(tmp_path).record(run("a", started="2026-11-01T04:00:00+02:00"))
    name = parse_name(text)
    assert name is not None and str(name) == text
    assert (name.sequence, name.kind, name.started.isoformat()) == (1, "step", STARTED)
    for wrong in ("", "1-x", text[:-1], text.replace("20261101", "20261301"), f"{text}x"):
        assert parse_name(wrong) is None


def test_control_characters_never_come_back(tmp_path: Path) -> None:
    opened = history(tmp_path)
    from dataclasses import replace

    hostile = replace(run("a", flags=("a\x1b[31m",)), warnings=(Caveat("x\x1b", "y\n", "z\x07"),))
    opened.record(hostile)
    (kept,) = opened.listing().runs
    assert all(flag.isprintable() for flag in kept.identity.flags)
    assert all(text.isprintable() for caveat in kept.warnings for text in (caveat.code, caveat.message, caveat.advice))


def test_a_key_has_digits_of_its_own() -> None:
    base = series()
    others = [series(**{name: "other"}) for name in Series.__dataclass_fields__]
    assert len({base.id, *(one.id for one in others)}) == 1 + len(others)
    assert base.id == series().id
