"""Plan files: what they expand to, and one clear line for whatever is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import blocks
from gdn_impl.catalog import CATALOG, Level
from gdnbench.nightly.plan_file import plan_of, read_plan
from gdnbench.serving.presets import PRESETS
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict


def plan(text: str):
    return plan_of(text.encode(), "my.toml")


def test_a_matrix_becomes_a_part_for_each_of_its_combinations() -> None:
    found = plan("""
        budget = "1h30m"
        fail_on = "invalid"
        [[step]]
        changes = [51913, 52078]
        compare = [["vllm@0.29.0", "limit+5us"]]
        releases = ["0.29.0", "0.30.0", "0.31.0"]
        devices = ["cpu", "cuda"]
        launches = 6
        again_after = "20h"
        value = 3
        expect = ["regressed", "unknown"]
        """)
    assert (found.budget_s, found.fail_on) == (5400, {Verdict.INVALID})
    assert [(part.before, part.after) for part in found.parts[::2]] == [
        ("pr51913.before", "pr51913.after"),
        ("pr52078.before", "pr52078.after"),
        ("vllm@0.29.0", "limit+5us"),
        ("vllm@0.29.0", "vllm@0.30.0"),
        ("vllm@0.30.0", "vllm@0.31.0"),
    ]
    assert [part.options["device"] for part in found.parts] == ["cpu", "cuda"] * 5
    for part in found.parts:
        assert (part.kind, part.options["launches"], part.again_after_s, part.value) == ("step", 6, 72000, 3)
        assert part.expected == {Verdict.REGRESSED, Verdict.UNKNOWN}
    assert len({part.digest for part in found.parts}) == len({part.name for part in found.parts}) == 10


@pytest.mark.parametrize("kind, level", [("cost", Level.COST), ("step", Level.STEP_TIME), ("serve", Level.SERVER)])
def test_all_changes_are_those_that_can_be_judged_there(kind: str, level: Level) -> None:
    found = plan(f'[[{kind}]]\nchanges = "all"')
    judged = [number for number, change in CATALOG.items() if change.judged_at(level)]
    assert [part.before for part in found.parts] == [f"pr{number}.before" for number in judged]


def test_what_a_part_asks_is_in_its_digest_and_what_it_is_worth_is_not() -> None:
    once = '[[step]]\nchanges = [51913]\nscenarios = ["16q1s1k"]\n'
    (plain,), (dearer,), (other,) = (
        plan(once + more).parts for more in ("", "value = 2\nminutes = 3\nagain_after = '1d'", "rounds = 50")
    )
    assert plain.digest == dearer.digest != other.digest


@pytest.mark.parametrize(
    "text, line",
    [
        ("[[step]]\nlaunches = ?", r"my.toml: no TOML: .*line 2"),
        ("", "nothing to measure"),
        ("budget = 25", r"my.toml: budget = 25: a time such as 25m"),
        ("step = 3", r"step: tables are needed, each headed \[\[step\]\]"),
        ("[[stepp]]\nlaunches = 2", r"unknown key 'stepp': did you mean step\?"),
        ("[[step]]\nlaunches = 2", r"step\[1\]: what is to be compared"),
        ("[[step]]\nreleases = ['0.29.0']", r"step\[1\]: what is to be compared"),
        ("[[step]]\nchanges = [51913]\n[[step]]\nchanges = [51914]", r"step\[2\]: changes = .*no change 51914"),
        ("[[serve]]\nchanges = [55404]", r"serve\[1\]: changes = \[55404\]: 55404 is not judged by live server"),
        ("[[step]]\nchanges = [51913]\nlaunchs = 2", r"unknown key 'launchs': did you mean launches\?"),
        ("[[step]]\nchanges = [51913]\nlaunches = 0", r"launches = 0: a whole number from 1 to 1,000"),
        ("[[step]]\nchanges = [51913]\nlaunches = true", "launches = True: a whole number"),
        ("[[step]]\nchanges = [51913]\nscenarios = ['16q']", r"scenarios = \['16q'\]: .*cannot read '16q'"),
        ("[[step]]\nchanges = [51913]\ndevices = ['tpu']", "there are cpu, cuda"),
        ("[[step]]\nchanges = [51913]\nconcurrency = [1]", "unknown key 'concurrency'"),
        ("[[step]]\ncompare = ['pr51913.before']", r"compare = .*pairs such as"),
        ("[[step]]\ncompare = [['pr51913.before', 'pr51913.aftr']]", r"did you mean pr51913.after\?"),
        ("[[step]]\nreleases = ['0.29', '0.30.0']", r"a release is written vllm@X.Y.Z"),
        ("[[step]]\nchanges = [51913]\nvalue = 0", "a number above 0"),
        ("[[step]]\nchanges = [51913]\nexpect = 'worse'", "verdicts are improved, invalid"),
        ("[[step]]\nchanges = [51913]\nagain_after = 'soon'", "a time such as 25m, 1h30m or 20h"),
        ("[[cost]]\ncompare = [['limit', 'limit+2%']]", "a handicap costs time alone"),
        (
            "[[step]]\nchanges = [51913]\n[[step]]\nchanges = [51913]",
            "step pr51913.before -> pr51913.after is there twice",
        ),
        ("[[serve]]\nchanges = [51913]\npresets = []", "a list of presets is needed"),
        ('[[accuracy]]\nchanges = [51913]\nmodel = "a\\u0000b"', "printable characters"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, line: str) -> None:
    with pytest.raises(UserError, match=line) as caught:
        plan(text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("my.toml: ")


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_plan(tmp_path / "plan.toml")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="no text in UTF-8"):
        read_plan(tmp_path / "bytes")
    (tmp_path / "long").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(UserError, match="more than 1 MiB"):
        read_plan(tmp_path / "long")


def test_the_plan_that_comes_with_the_package_measures_at_every_level() -> None:
    found = read_plan()
    assert {part.kind for part in found.parts} == {"cost", "step", "serve", "accuracy"}
    assert found.budget_s == 25 * 60
    counted = {part.before for part in found.parts if part.kind == "cost"}
    assert counted >= {f"pr{number}.before" for number in CATALOG}
    assert {part.options.get("preset", "tiny-cpu") for part in found.parts} <= PRESETS.keys()


def test_the_plan_in_the_documents_is_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "nightly.md"
    (text,) = (block for language, _, block in blocks(page.read_text("utf-8")) if language == "toml")
    found = plan(text)
    assert {part.kind for part in found.parts} == {"cost", "step", "serve", "accuracy"}
