"""A server of ours is started, watched and ended like vLLM's; whatever goes wrong is one line that names its log."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gdnbench.serving import server as servers
from gdnbench.serving.plan import ServerSetting
from gdnbench.serving.process_tree import marked
from gdnbench.serving.server import Server
from standins import MARK, break_engine, command_line, failure, first_process, warden_of

Make = Callable[..., Server]


@pytest.fixture
def make(stand_in: Any, setting: ServerSetting, tmp_path: Path, mark: str) -> Any:
    """Makes servers; at the end none of their processes is left."""

    def make(behaviour: str = "well", log: str = "", setting: ServerSetting = setting, **rest: Any) -> Server:
        return Server(stand_in(STANDIN=behaviour, STANDIN_LOG=log), setting, tmp_path / "run", **rest)

    yield make
    assert marked(MARK, mark) == []


def test_it_is_ready_answers_and_is_ended(make: Make) -> None:
    with make() as server:
        server.start()
        server.check()
        assert 0 < server.start_s < 20
        assert len(server.pids()) == 3
    assert not server.alive()
    assert server.pids() == []
    server.stop()


def test_its_key_is_its_own_and_on_no_command_line(make: Make) -> None:
    with make() as server:
        server.start()
        assert not any(server.key in command_line(pid) for pid in server.pids())
        assert server.key not in server.log.read_text()
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/v1/models", headers={"Authorization": "Bearer other"})
        assert connection.getresponse().status == 401
    assert make().key != server.key


def test_its_command_is_the_same_on_every_machine(make: Make, setting: ServerSetting) -> None:
    drafts = replace(setting, speculative={"num_speculative_tokens": 2, "method": "mtp"})
    with make(setting=drafts) as server:
        server.start()
        command = f"--model {setting.model} --served-model-name served --dtype bfloat16 --speculative-config"
        assert server.command == (*command.split(), '{"method": "mtp", "num_speculative_tokens": 2}')
        assert server.log.read_text().startswith(f"$ {command}")


def test_it_counts(make: Make) -> None:
    with make() as server:
        server.start()
        found = server.wait_idle()
    assert (found.running, found.waiting, found.prompt_tokens, found.generated_tokens) == (0, 0, 33, 15)
    assert (found.prefix_queries, found.prefix_hits, found.finished) == (100, 40, 5)


def test_all_of_it_is_bound_to_its_cores(make: Make) -> None:
    core = max(os.sched_getaffinity(0))
    with make(cores=(core,)) as server:
        server.start()
        assert {tuple(os.sched_getaffinity(pid)) for pid in server.pids()} == {(core,)}


def test_the_callers_variables_win(make: Make, setting: ServerSetting) -> None:
    with make(env={"SETTING": "2"}) as server:
        server.start()
        assert b"SETTING=2" in Path(f"/proc/{first_process(server)}/environ").read_bytes().split(b"\0")


def test_a_port_that_is_taken_is_refused_before_anything_starts(make: Make) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with make(port=port) as server:
            assert f"port {port} is taken by another process" in failure(server.start)
            assert server.pids() == []


def test_a_port_that_is_lost_to_another_is_told(make: Make) -> None:
    with socket.socket() as other, make() as server:
        server.launch()
        other.bind(("127.0.0.1", server.port))
        other.listen()
        message = failure(server.wait_ready)
    assert "its port is taken by another process" in message
    assert message.endswith(f"its log: {server.log}")


def test_another_server_on_its_port_is_not_taken_for_it(make: Make) -> None:
    with make("stranger") as server:
        message = failure(server.start)
        assert f"another server answers on port {server.port}" in message


@pytest.mark.parametrize("model", ["/no/such/model", "EMPTY", "README"])
def test_a_path_without_a_model_is_refused_at_once(
    make: Make, setting: ServerSetting, tmp_path: Path, model: str
) -> None:
    (tmp_path / "README").write_text("")
    path = str(tmp_path / model) if model != "/no/such/model" else model
    with make(setting=replace(setting, model=path)) as server:
        assert f"no model at {path}" in failure(server.start)
        assert server.pids() == []


def test_a_server_that_crashes_says_why(make: Make) -> None:
    log = "(APIServer pid=7) ValueError: the first\n(APIServer pid=7) RuntimeError: Engine core initialization failed."
    with make("crash", log) as server:
        message = failure(server.start)
    assert message == f"the server did not start (status 1): ValueError: the first; its log: {server.log}"


def test_what_the_caller_knows_comes_first(make: Make) -> None:
    with make("crash", "ValueError: the first", explain=lambda: "the plugin refuses 0.22.0") as server:
        assert "(status 1): the plugin refuses 0.22.0; its log" in failure(server.start)


def test_a_server_that_is_never_ready_is_given_up(make: Make) -> None:
    with make("never", start_timeout_s=1.5) as server:
        assert "was not ready in 1.5 s: its last line: about to wait" in failure(server.start)
        server.stop()
        assert server.pids() == []


def test_a_server_that_is_killed_is_noticed(make: Make) -> None:
    with make() as server:
        server.start()
        os.kill(first_process(server), signal.SIGKILL)
        time.sleep(0.5)
        assert "died while running (SIGKILL): something killed it" in failure(server.check)
        assert server.pids() == [], "the warden ends what is left, unasked"


def test_a_server_whose_engine_dies_is_waited_for(make: Make) -> None:
    with make() as server:
        server.start()
        break_engine(server)
        assert "died while running (status 0)" in failure(server.check)


def test_a_stopped_server_hangs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "ANSWER_S", 0.5)
    with make() as server:
        server.start()
        os.kill(first_process(server), signal.SIGSTOP)
        assert "hangs: no answer of /health in 0.5 s" in failure(server.check)
        assert "hangs: no answer of /metrics in 0.5 s" in failure(server.metrics)


def test_a_log_on_a_full_disk_is_told_at_once(make: Make, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "server.log").symlink_to("/dev/full")
    with make() as server:
        assert "No space left on device" in failure(server.start)
        assert server.pids() == []


def test_a_killed_warden_leaves_nothing_behind(make: Make, wait_until: Any) -> None:
    with make() as server:
        server.start()
        os.kill(warden_of(server), signal.SIGKILL)
        time.sleep(0.2)
        assert "its warden was killed" in failure(server.check)
    wait_until(lambda: server.pids() == [])  # whom nobody waits for is seen for a moment after its end


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_a_harness_that_is_killed(
    how: signal.Signals, stand_in: Any, setting: ServerSetting, tmp_path: Path, mark: str, wait_until: Any
) -> None:
    process = stand_in()
    harness = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from standins import StandIn
        from gdnbench.serving.plan import ServerSetting
        from gdnbench.serving.server import Server

        process = StandIn({process.env!r}, {process.scripts!r})
        setting = ServerSetting("none", {setting.model!r}, {setting.model!r}, (), {{}}, None, "cpu")
        with Server(process, setting, Path({str(tmp_path / "run")!r})) as server:
            server.start()
            print("ready", flush=True)
            time.sleep(100)
    """)
    command = [sys.executable, "-c", harness]
    with subprocess.Popen(
        command, env=process.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        assert len(marked(MARK, mark)) == 4
        parent.send_signal(how)
    wait_until(lambda: marked(MARK, mark) == [])
