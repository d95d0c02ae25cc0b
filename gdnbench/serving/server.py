"""A live vLLM server: started on the loopback with a port and a key of its own, watched, and ended with all it started.

with Server(process, setting, directory) as server:
    server.start()
    ...server.url, server.key...
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from gdnbench.campaign.processes import PythonProcess
from gdnbench.serving import metrics
from gdnbench.serving.endpoint import HOST, Endpoint
from gdnbench.serving.failures import SIGNALS, ServerFailed, cause_in, ending, first_error
from gdnbench.serving.logs import begin_log, last_line, no_room
from gdnbench.serving.metrics import ServerMetrics
from gdnbench.serving.plan import ServerSetting
from gdnbench.serving.process_tree import marked, oom_kills
from gdnbench.serving.warden import GRACE_S, KILL_S, LEFTOVER_GRACE_S

MODEL_NAME = "served"
"""What requests call the model, so that they are the same wherever it lies."""
MARK = "GDNBENCH_SERVER"

START_TIMEOUT_S = 900.0
ANSWER_S = 10.0
"""In which a live server answers /health and /metrics, busy or not."""
DYING_S = 15.0
"""In which a server whose engine died is gone."""
POLL_S = 0.2

OUT_OF_MEMORY = "out of memory: the kernel killed a process meanwhile"

_ENV = {
    "VLLM_LOGGING_LEVEL": "INFO",
    "SPT_NOENV": "1",  # else the title that a process gives itself overwrites the environment by which it is found
}


class Server:
    """One server.

    Args:
        process: the Python of its release.
        setting: what it serves and how.
        directory: for its log, `server.log`; made if need be.
        cores: what the whole server is bound to; None to leave that to the system.
        env: further environment variables; they win over all others.
        port: to listen on; None for a free one.
        start_timeout_s: after which a start counts as hung.
        explain: asked why the server failed before its log is; for what a plugin wrote down.

    Attributes:
        url: of its root, without a slash at the end.
        key: that requests must bring.
        model_name: what requests call the model.
        command: its arguments without key and port.
        log: everything that it printed.
        start_s: from start to ready, seconds; 0 before.
    """

    def __init__(
        self,
        process: PythonProcess,
        setting: ServerSetting,
        directory: Path,
        *,
        cores: tuple[int, ...] | None = None,
        env: Mapping[str, str] | None = None,
        port: int | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
        explain: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.setting = setting
        self.cores = cores
        self.log = directory / "server.log"
        self.key = secrets.token_hex(16)
        self.model_name = MODEL_NAME
        self.command = _arguments(setting)
        self.start_s = 0.0
        self._process = process
        self._env = dict(env or {})
        self._endpoint = Endpoint(port, self.key)
        self._start_timeout_s = start_timeout_s
        self._explain = explain
        self._mark = secrets.token_hex(8)
        self._warden: subprocess.Popen[bytes] | None = None
        self._begun = 0.0
        self._kills = 0
        self._told: bytes | None = None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self._endpoint.port

    @property
    def url(self) -> str:
        return self._endpoint.url

    def start(self) -> None:
        """Start the server and wait until it is ready.

        Raises:
            ServerFailed: it cannot be started, died, or was not ready in time.
        """
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start the server and do not wait.

        Raises:
            ServerFailed: no port or no room for its log.
        """
        self._refuse_no_model()
        self._endpoint.choose_port()
        self._begun, self._kills = time.monotonic(), oom_kills()
        env = {**self._process.env, **_ENV, **self.setting.settings, **self._env}
        env |= {"VLLM_API_KEY": self.key, MARK: self._mark}
        command = [*self._warden_command(), *self._process.command("vllm.entrypoints.openai.api_server")]
        command += [*self.command, "--host", HOST, "--port", str(self.port)]
        try:
            with begin_log(self.log, self.command) as log:
                self._warden = subprocess.Popen(
                    command,
                    env=env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise ServerFailed(f"the server cannot be started: {error.strerror or error}: {self.log}") from None

    def wait_ready(self) -> None:
        """Wait until a launched server is ready.

        Raises:
            ServerFailed: it died, or was not ready in time.
        """
        while not self._endpoint.healthy():
            self._check_alive("did not start")
            if time.monotonic() - self._begun > self._start_timeout_s:
                raise self._failed(
                    f"was not ready in {self._start_timeout_s:g} s", f"its last line: {last_line(self.log)}"
                )
            time.sleep(POLL_S)
        if self._endpoint.get("/v1/models", ANSWER_S)[0] != http.client.OK:
            raise self._failed("does not know its key", f"another server answers on port {self.port}")
        self.start_s = round(time.monotonic() - self._begun, 3)

    def check(self) -> None:
        """Make sure that the server lives and answers.

        Raises:
            ServerFailed: it died, or does not answer.
        """
        self._check_alive("died while running")
        try:
            status = self._endpoint.get("/health", ANSWER_S)[0]
        except TimeoutError:
            raise self._failed("hangs", f"no answer of /health in {ANSWER_S:g} s") from None
        except OSError as error:
            status = None
            reason = error.strerror or str(error)
        else:
            reason = f"/health gave status {status}"
        if status != http.client.OK:
            self._wait_for_death()
            raise self._failed("does not answer", reason)

    def metrics(self) -> ServerMetrics:
        """The server's counters.

        Raises:
            ServerFailed: it died, or does not answer.
        """
        try:
            status, text = self._endpoint.get("/metrics", ANSWER_S)
        except TimeoutError:
            raise self._failed("hangs", f"no answer of /metrics in {ANSWER_S:g} s") from None
        except OSError as error:
            self.check()
            raise self._failed("does not answer", error.strerror or str(error)) from None
        if status != http.client.OK:
            raise self._failed("does not answer", f"/metrics gave status {status}")
        try:
            return metrics.parse(text)
        except ValueError as error:
            raise self._failed("cannot be watched", str(error)) from None

    def wait_idle(self, timeout_s: float = 60.0) -> ServerMetrics:
        """Wait until no request is in the server; its counters then.

        Raises:
            ServerFailed: it died, hangs, or was not idle in time.
        """
        deadline = time.monotonic() + timeout_s
        while not (found := self.metrics()).idle:
            if time.monotonic() > deadline:
                raise self._failed(f"was not idle in {timeout_s:g} s", f"{found.running} requests are running")
            time.sleep(POLL_S / 4)
        return found

    def alive(self) -> bool:
        """Whether it runs, or is still on its way down."""
        return self._warden is not None and self._warden.poll() is None

    def hung(self, seconds: float) -> ServerFailed:
        """What to raise when its requests made no progress for so long."""
        return self._failed("hangs", f"no request made progress in {seconds:g} s")

    def stop(self) -> None:
        """End the server and every process that it started; nothing happens if it does not run."""
        warden = self._warden
        if warden is None:
            return
        assert warden.stdin is not None and warden.stdout is not None
        with suppress(OSError):
            warden.stdin.close()
        try:
            warden.wait(GRACE_S + LEFTOVER_GRACE_S + KILL_S + 5)
        except subprocess.TimeoutExpired:
            warden.kill()
            warden.wait()
        warden.stdout.close()
        for pid in marked(MARK, self._mark):  # there are some only if the warden was killed
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._warden = None

    def pids(self) -> list[int]:
        """All processes that belong to the server, the warden among them."""
        return marked(MARK, self._mark)

    def _refuse_no_model(self) -> None:
        """A path without a model is told at once; vLLM would take it for the name of one on a hub."""
        model = Path(self.setting.model).expanduser()
        if (model.is_absolute() or model.exists()) and not (model / "config.json").is_file():
            raise ServerFailed(f"the server cannot be started: no model at {model} (no config.json there)")

    def _warden_command(self) -> list[str]:
        cores = [] if self.cores is None else ["--cores", ",".join(map(str, self.cores))]
        return [*self._process.command("gdnbench.serving.warden"), *cores, "--"]

    def _check_alive(self, what: str) -> None:
        if self.alive():
            return
        status = self._status()
        by_signal = SIGNALS.get(-status) if status is not None and status < 0 else None
        raise self._failed(f"{what} ({ending(status)})", by_signal)

    def _wait_for_death(self) -> None:
        """A server whose engine died answers still, or no more, and ends after a while of its own accord."""
        deadline = time.monotonic() + DYING_S
        while time.monotonic() < deadline:
            self._check_alive("died while running")
            time.sleep(POLL_S)

    def _status(self) -> int | None:
        """How the server's first process ended, as the warden told; None if the warden itself was killed."""
        assert self._warden is not None and self._warden.stdout is not None
        if self._told is None:
            self._told = self._warden.stdout.read()
        lines = [json.loads(line) for line in self._told.splitlines()]
        return next((line["status"] for line in lines if "status" in line), None)

    def _failed(self, what: str, otherwise: str | None = None) -> ServerFailed:
        """What happened, why, and where the log is.

        Args:
            otherwise: the cause if nobody wrote down a better one.
        """
        starved = OUT_OF_MEMORY if oom_kills() > self._kills else None
        cause = self._explain() or starved or no_room(self.log) or cause_in(self.log)
        cause = cause or otherwise or first_error(self.log)
        return ServerFailed(
            f"the server {what}: {cause or f'its last line: {last_line(self.log)}'}; its log: {self.log}"
        )


def _arguments(setting: ServerSetting) -> tuple[str, ...]:
    speculative = setting.speculative
    drafts = () if speculative is None else ("--speculative-config", json.dumps(dict(speculative), sort_keys=True))
    return ("--model", setting.model, "--served-model-name", MODEL_NAME, *setting.flags, *drafts)
