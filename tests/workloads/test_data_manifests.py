"""Manifests say what a data set is, and hold files to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gdnbench.values.errors import UserError
from gdnbench.workloads.manifests import DataFile, known, manifest, manifests, sha256


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    return tmp_path


def test_every_manifest_is_complete() -> None:
    found = {one.name: one for one in manifests()}
    assert {"sharegpt", "gsm8k", "word-problems", "tiny-gdn"} <= set(found)
    for one in found.values():
        assert one.what and one.source and one.licence and one.files
        for file in one.files:
            assert file.bytes > 0 and re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert Path(file.name).name == file.name


def test_public_data_sets_are_pinned_to_a_revision_and_lie_in_the_cache(cache: Path) -> None:
    for name in ("sharegpt", "gsm8k"):
        for file in manifest(name).files:
            assert file.url and re.search("/[0-9a-f]{40}/", file.url) and file.url.endswith(file.name)
            assert file.path == cache / "datasets" / name / file.name


def test_our_own_lie_in_the_checkout_as_described() -> None:
    for file in manifest("word-problems").files:
        assert file.url is None and file.state() == "good" and known(file.sha256) == f"word-problems {file.name}"


def test_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"some data")
    good = DataFile("file", path, None, 9, sha256(path))
    assert good.state() == "good"
    path.write_bytes(b"some date")
    assert re.match(f"its sha256 is [0-9a-f]+, not {good.sha256}", good.state())
    path.write_bytes(b"some")
    assert good.state() == "4 bytes instead of 9"
    path.unlink()
    assert good.state() == "absent"


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UserError, match=r"no data set 'sharegtp': there are gsm8k, sharegpt"):
        manifest("sharegtp")
