"""Where a server listens: a port of the loopback, and a key without which it answers nothing that matters."""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from random import SystemRandom

from gdnbench.serving.failures import ServerFailed

HOST = "127.0.0.1"
PORTS = range(20_000, 32_000)
"""Below those that the system gives to outgoing connections, which could take one while the server starts."""


class Endpoint:
    """An address of the loopback.

    Args:
        port: None for a free one.
        key: sent with each request.
    """

    def __init__(self, port: int | None, key: str) -> None:
        self._port = port
        self._key = key

    @property
    def port(self) -> int:
        assert self._port is not None, "no port was chosen"
        return self._port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def choose_port(self) -> None:
        """Make sure that nobody listens on the port; choose one if none was given.

        Raises:
            ServerFailed: it is taken, or none is free.
        """
        for candidate in SystemRandom().sample(PORTS, 100) if self._port is None else [self._port]:
            with socket.socket() as probe, suppress(OSError):
                probe.bind((HOST, candidate))
                self._port = candidate
                return
        taken = f"port {self._port} is taken by another process" if self._port else "no free port on the loopback"
        raise ServerFailed(f"the server cannot be started: {taken}")

    def healthy(self) -> bool:
        """Whether a server that is ready answers."""
        try:
            return self.get("/health", 1.0)[0] == http.client.OK
        except OSError:
            return False

    def get(self, path: str, timeout_s: float) -> tuple[int, str]:
        """The status and text of an answer.

        Raises:
            TimeoutError: there is none in time.
            OSError: nobody listens, or it is no HTTP.
        """
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout_s)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._key}"})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except http.client.HTTPException as error:
            raise OSError(str(error)) from None
        finally:
            connection.close()
