"""Reaching a Ray cluster, or one line that says why it cannot be reached. The only door through which Ray comes in."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

from gdnbench.values.errors import EnvironmentMissing, UserError

CONNECT_S = 5.0
ANSWER_S = 30.0
"""In which a cluster tells its state. Ray itself would go on asking for ever, and not hear Ctrl-C meanwhile."""
_HOST_PORT = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")


def reach(address: str) -> Any:
    """Ray, connected to the cluster at `address`: `HOST:PORT`, or `auto` for the one that this machine belongs to.

    Raises:
        UserError: that is no address.
        EnvironmentMissing: Ray is not installed, or no cluster answers there that this process can work with.
    """
    if address != "auto":
        _connects(address)
    if find_spec("ray") is None:
        raise EnvironmentMissing("--executor ray needs ray: install it with pip install 'gdnbench[ray]'")
    _answers(address)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _unreachable(address, " ".join(str(error).split())[:300]) from None
    return ray


def _connects(address: str) -> None:
    """Whether anything listens there: what is known at once is said at once."""
    parts = _HOST_PORT.fullmatch(address)
    if parts is None or not 0 < int(parts["port"]) < 65536:
        raise UserError(f"--address {address}: HOST:PORT of a Ray cluster is needed, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((parts["host"].strip("[]"), int(parts["port"])), CONNECT_S).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from None


def _answers(address: str) -> None:
    """Whether it is a living cluster that listens."""
    command = [
        sys.executable,
        "-m",
        "ray.scripts.scripts",
        "status",
        *([] if address == "auto" else ["--address", address]),
    ]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        raise _unreachable(address, f"nothing that is Ray has answered in {ANSWER_S:g} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["ray status failed"]
        raise _unreachable(address, lines[-1].strip()[:300])


def _unreachable(address: str, why: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"--address {address}: no Ray cluster can be reached there ({why}): start one with ray start, "
        "and run this on one of its machines"
    )
