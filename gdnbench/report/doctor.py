"""What this machine can measure, what it cannot, and what to install. Looks only; changes and fetches nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from gdn_impl.catalog import CATALOG
from gdnbench.history.needs import LIBRARIES, missing
from gdnbench.oracle.cache import cache_root
from gdnbench.oracle.environment import release_python, repository
from gdnbench.oracle.installed import installed_lm_eval
from gdnbench.oracle.wheels import cached_wheel, is_damaged
from gdnbench.values.errors import EnvironmentMissing

EXTRAS = {
    "history": ("a history of runs, nights and shifts", LIBRARIES),
    "dashboard": ("the dashboard", (*LIBRARIES, "plotly")),
    "ray": ("campaigns on many machines", ("ray",)),
}
"""What of a set-up is optional: what each extra is for, and what it brings."""
_BESIDE = {use for use, _ in EXTRAS.values()}
"""What needs no measuring."""
BUSY = 0.5
"""Load per core from which launches are visibly noisier."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing found. `advice` says what to do about it, and is empty where nothing needs doing."""

    name: str
    value: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Ability:
    """One thing that can be measured here, or not, and why not."""

    name: str
    able: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """The facts, and what follows from them."""

    facts: tuple[Fact, ...]
    abilities: tuple[Ability, ...]

    @property
    def able(self) -> bool:
        """Whether anything at all can be measured."""
        return any(ability.able for ability in self.abilities if ability.name not in _BESIDE)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def examine() -> Examination:
    """Looks at this machine and this environment."""
    torch, releases, asv = _torch(), _releases(), _asv()
    lm_eval = _lm_eval(releases)
    cuda = Fact("GPU", "unknown", "torch comes first") if torch.advice else _cuda()
    facts = (_python(), torch, *([] if torch.advice else _machine()), _load(), cuda, releases, lm_eval, *_wheels())
    facts += (asv, _git())
    abilities = (
        Ability("exact cost", not torch.advice, torch.advice),
        Ability("step time on the CPU", not torch.advice, torch.advice),
        Ability("step time on a GPU", not cuda.advice, cuda.advice),
        Ability("conformance with releases, and their step time", not releases.advice, releases.advice),
        Ability("live server with the tiny model on the CPU", not releases.advice, releases.advice),
        Ability("accuracy, on that server", not lm_eval.advice, lm_eval.advice),
        Ability("asv", not asv.advice, asv.advice),
        *(_extra(extra, *what) for extra, what in EXTRAS.items()),
    )
    return Examination(facts, abilities)


def _python() -> Fact:
    return Fact("Python", f"{platform.python_version()} at {sys.executable}")


def _torch() -> Fact:
    if find_spec("torch") is None:
        return Fact("torch", "missing", "install it: make setup")
    try:
        import torch
    except Exception as error:
        return Fact("torch", f"cannot be imported ({type(error).__name__}: {error})", "install it anew: make setup")
    return Fact("torch", f"{torch.__version__}, {torch.get_num_threads()} threads")


def _cuda() -> Fact:
    import torch

    if torch.version.cuda is None:
        return Fact("GPU", "none that this torch can use", "it needs an NVIDIA GPU and a CUDA build of torch")
    if not torch.cuda.is_available():
        return Fact("GPU", "none", "it needs an NVIDIA GPU and its driver")
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return Fact("GPU", f"{', '.join(names)}, CUDA {torch.version.cuda}")


def _machine() -> list[Fact]:
    from gdnbench.campaign.surroundings import surroundings  # imports torch

    found = surroundings()
    usable = len(found["affinity"] or range(found["cores"]))
    facts = [Fact("CPU", f"{found['cpu']}, {usable} of {found['cores']} cores usable")]
    if found["governor"] is not None:
        steady = found["governor"] == "performance"
        facts.append(Fact("governor", found["governor"], "" if steady else "the clock varies: set it to performance"))
    return facts


def _load() -> Fact:
    load = os.getloadavg()[0]
    busy = load > BUSY * (os.cpu_count() or 1)
    return Fact("load", f"{load:.2f}", "other work runs here: figures will be noisier, so wait for it" if busy else "")


def _releases() -> Fact:
    try:
        return Fact("vLLM releases run with", str(release_python()))
    except EnvironmentMissing as missing:
        return Fact("vLLM releases run with", "nothing", str(missing))


def _lm_eval(releases: Fact) -> Fact:
    if releases.advice:
        return Fact("lm-eval", "missing", releases.advice)
    found = installed_lm_eval(release_python())
    return (
        Fact("lm-eval", "missing", "install it there: make vllm") if found is None else Fact("lm-eval", found.version)
    )


def _wheels() -> list[Fact]:
    """Which of the catalogue's releases lie in the cache. The others are fetched when they are first needed."""
    whole: list[str] = []
    damaged: list[str] = []
    for release in dict.fromkeys(release for change in CATALOG.values() for release in change.releases):
        wheel = cached_wheel(release)
        if wheel is not None:
            (damaged if is_damaged(release, wheel) else whole).append(release)
    facts = [Fact("wheels cached", f"{', '.join(whole) or 'none'} in {cache_root()}")]
    if damaged:
        facts.append(Fact("wheels damaged", ", ".join(damaged), f"delete them in {cache_root() / 'wheels'}"))
    return facts


def _asv() -> Fact:
    try:
        return Fact("asv", metadata.version("asv"))
    except metadata.PackageNotFoundError:
        return Fact("asv", "missing", "install it: pip install -e .[asv]")


def _extra(extra: str, use: str, libraries: Iterable[str]) -> Ability:
    lacking = missing(libraries)
    return Ability(
        use, not lacking, f"{', '.join(lacking)} missing: pip install 'gdnbench[{extra}]'" if lacking else ""
    )


def _git() -> Fact:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository()), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return _attempt("git", lambda: git("rev-parse", "--short", "HEAD") + (", modified" * bool(git("status", "-s"))))


def _attempt(name: str, look: Callable[[], str]) -> Fact:
    try:
        return Fact(name, look())
    except (OSError, subprocess.CalledProcessError, EnvironmentMissing):
        return Fact(name, "no repository", "figures will name no commit: run from a git checkout")
