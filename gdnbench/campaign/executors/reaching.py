"""Reaching a Ray cluster, or one line that says why it cannot be reached. The only door through which Ray comes in."""

from __future__ import annotations

import os
import re
import socket
from typing import Any

from gdnbench.values.errors import EnvironmentMissing, UserError

ANSWER_S = 5.0
_HOST_PORT = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")


def reach(address: str) -> Any:
    """Ray, connected to the cluster at `address`: `HOST:PORT`, or `auto` for the one that this machine belongs to.

    Raises:
        UserError: that is no address.
        EnvironmentMissing: Ray is not installed, or no cluster answers there that this process can work with.
    """
    if address != "auto":
        _answers(address)
    try:
        import ray
    except ImportError:
        raise EnvironmentMissing("--executor ray needs ray: install it with pip install 'gdnbench[ray]'") from None
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise EnvironmentMissing(
            f"--address {address}: no Ray cluster that this machine belongs to can be reached ({reason}): "
            "start one with ray start, and run this on one of its machines"
        ) from None
    return ray


def _answers(address: str) -> None:
    """Whether anything does; Ray itself would go on asking for minutes."""
    parts = _HOST_PORT.fullmatch(address)
    if parts is None or not 0 < int(parts["port"]) < 65536:
        raise UserError(f"--address {address}: HOST:PORT of a Ray cluster is needed, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((parts["host"].strip("[]"), int(parts["port"])), ANSWER_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentMissing(
            f"--address {address}: no Ray cluster answers there ({reason}): ray status on its head says where it is"
        ) from None
