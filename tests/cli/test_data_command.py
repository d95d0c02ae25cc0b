"""`gdnbench data` as a person calls it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gdnbench.cli import app, exits
from gdnbench.workloads.manifests import manifest

TINY = Path(__file__).parents[2] / "datasets" / "tiny-gdn"
Told = tuple[int, str, str]


@pytest.fixture
def data(capsys, monkeypatch, tmp_path) -> Callable[..., Told]:
    """Runs the command with an empty cache: exit code, standard output, standard error."""
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))

    def run(*arguments: object) -> Told:
        status = exits.run(app, ["data", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def entries(*prompts: str) -> str:
    return json.dumps(
        [{"conversations": [{"from": "human", "value": one}, {"from": "gpt", "value": "b" * 9}]} for one in prompts],
        ensure_ascii=False,
    )


def test_list_names_source_licence_and_size(data) -> None:
    status, out, _ = data("list")
    assert status == 0 and "MIT" in out and "672.8" in out and "https://github.com/openai/grade-school-math" in out
    listed = {one["name"]: one for one in json.loads(data("list", "--json")[1])["datasets"]}
    assert listed["gsm8k"]["bytes"] == 749738 + 4166206 + 1062
    assert [file["here"] for file in listed["sharegpt"]["files"]] == [False]
    assert all(file["here"] for file in listed["tiny-gdn"]["files"])


def test_verify(data, tmp_path: Path) -> None:
    status, out, _ = data("verify", "word-problems")
    assert (status, out) == (0, "word-problems test.jsonl: good\n")
    status, _, err = data("verify", "gsm8k")
    assert status == 4 and "absent, and 2 more: gdnbench data fetch gsm8k" in err and err.count("\n") == 1

    damaged = manifest("gsm8k").files[0].path
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"x" * manifest("gsm8k").files[0].bytes)
    status, out, err = data("verify")
    assert status == 2 and "gsm8k test.jsonl: its sha256 is" in out and "data fetch gsm8k" in err
    assert "train.jsonl" not in out
    status, out, _ = data("verify", "--json", "gsm8k")
    assert status == 2 and [row["state"][:6] for row in json.loads(out)["files"]] == ["its sh", "absent", "absent"]


def test_fetch_without_a_network(data) -> None:
    status, out, err = data("fetch", "gsm8k", "--mirror", "http://127.0.0.1:1")
    assert status == 4 and out == "" and err.startswith("gdnbench: cannot fetch") and err.count("\n") == 1
    assert data("fetch", "gsm9k")[0] == 2


def test_fetch_from_a_mirror(data, tmp_path: Path, monkeypatch) -> None:
    """Of a data set whose files are at hand: our own, served as if they were elsewhere."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    checkout = tmp_path / "checkout" / "gdnbench"
    own = checkout.parent / "datasets" / "word-problems"
    shutil.copytree(TINY.parent / "word-problems", own)
    monkeypatch.setattr("gdnbench.__file__", str(checkout / "__init__.py"))
    shutil.move(own / "test.jsonl", tmp_path / "test.jsonl")
    command = [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(tmp_path), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            url = server.stdout.readline().split("(")[1].split(")")[0]  # type: ignore[union-attr]
            status, out, err = data("fetch", "word-problems", "--mirror", url, "--json")
        finally:
            server.kill()
    assert status == 0, err
    assert json.loads(out) == {"name": "word-problems", "paths": [str(own / "test.jsonl")]}
    assert data("verify", "word-problems")[0] == 0


def test_inspect_a_sound_file(data, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(entries("why is that so", "a"), "utf-8")
    status, out, err = data("inspect", path)
    assert (status, err) == (0, "") and out.startswith(f"{path}: ShareGPT, 2 entries (")
    status, out, _ = data("inspect", path, "--tokenizer", TINY)
    lines = dict(line.strip().rsplit(maxsplit=1) for line in out.splitlines()[1:])
    assert lines["prompt too short"] == "1" and lines["kept"] == "1"
    found = json.loads(data("inspect", path, "--tokenizer", TINY, "--json")[1])
    assert found["sound"] is True and found["counts"]["kept"] == 1
    assert json.loads(data("inspect", path, "--json")[1])["counts"] == {
        "entries": 2, "no_conversations": 0, "under_two_turns": 0,
    }  # fmt: skip


def test_inspect_knows_published_files_and_other_formats(data, tmp_path: Path) -> None:
    status, out, _ = data("inspect", TINY.parent / "word-problems" / "test.jsonl")
    assert status == 0 and "JSON Lines, 1319 entries, the published word-problems test.jsonl (" in out
    other = tmp_path / "other.json"
    other.write_text('[{"question": 1}]')
    assert ": JSON array, 1 entry (" in data("inspect", other)[1]
    status, _, err = data("inspect", TINY / "config.json")
    assert status == 2 and "a single JSON object" in err


@pytest.mark.parametrize(
    ("content", "fault", "what"),
    [
        (entries("some words")[:55].encode(), "truncated", "truncated at byte 55, inside a string that begins"),
        (b"<!DOCTYPE html><html>", "page", "an HTML page, not data (starts with '<!DOCTYPE html><html>')"),
        (b"version https://git-lfs.github.com/spec/v1\n", "lfs-pointer", "a git-LFS pointer"),
        (b"", "empty", "empty, 0 bytes"),
        (b"[]", "empty", "no entries, no set of data"),
        (b"\xef\xbb\xbf[]", "byte-order-mark", "begins with a UTF-8 byte order mark"),
        ("[\u00e9]".encode("latin-1"), "not-utf-8", "not UTF-8: byte 0xe9 at byte 1"),
    ],
    ids=["cut", "page", "pointer", "empty", "no entries", "byte order mark", "not UTF-8"],
)
def test_inspect_a_bad_file(data, tmp_path: Path, content: bytes, fault: str, what: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    status, out, err = data("inspect", path)
    assert status == 2 and out == "" and err.startswith(f"gdnbench: {path}: {what}") and err.count("\n") == 1
    status, out, _ = data("inspect", path, "--json")
    found = json.loads(out)
    assert (status, found["sound"], found["fault"], found["bytes"]) == (2, False, fault, len(content))
    assert len(found["sha256"]) == 64


def test_inspect_in_a_locale_that_knows_ascii_alone(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": os.environ["PATH"]}
    path = tmp_path / "conversations.json"
    path.write_text(entries("\u4f60\u597d \U0001f600 \u00e9", "a b c d"), "utf-8")
    page = tmp_path / "page.json"
    page.write_text("<html>\u00e9\u4f60", "utf-8")
    command = [sys.executable, "-m", "gdnbench", "data", "inspect"]
    for file, status, line in ((path, 0, "ShareGPT, 2 entries"), (page, 2, r"starts with '<html>\xe9\u4f60'")):
        run = subprocess.run(
            [*command, str(file), "--tokenizer", str(TINY)],
            env=plain, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert run.returncode == status, run.stderr
        assert line in run.stdout + run.stderr and "Traceback" not in run.stderr


def test_make(data, tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    made = ("make", "sharegpt-like", "--out", path, "--tokenizer", TINY, "--conversations", 30, "--seed", 2)
    status, out, _ = data(*made)
    assert status == 0 and ": ShareGPT, 30 entries (" in out
    first = path.read_bytes()
    assert json.loads(data(*made, "--json")[1])["entries"] == 30 and path.read_bytes() == first
    status, _, err = data("make", "sharegpt", "--out", path, "--tokenizer", TINY)
    assert status == 2 and "there is sharegpt-like" in err
    status, _, err = data("make", "sharegpt-like", "--out", path, "--tokenizer", tmp_path)
    assert status == 2 and "no tokenizer.json in" in err


@pytest.mark.parametrize("command", ["list", "fetch", "verify", "inspect", "make"])
def test_help_shows_an_example_of_each(data, command: str) -> None:
    status, out, _ = data(command, "--help")
    assert status == 0 and f"Example: gdnbench data {command}" in " ".join(out.split())
