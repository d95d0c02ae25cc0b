"""vLLM 0.29.0 with the tiny model: started, loaded, and brought down in every way; one line each, and nothing left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import eq
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from gdnbench.campaign.processes import PythonProcess
from gdnbench.oracle.environment import release_process, repository
from gdnbench.serving.load import BlockReply, LoadGenerator
from gdnbench.serving.plan import ServerSetting
from gdnbench.serving.planning import RELEASE, plan_serve
from gdnbench.serving.process_tree import marked
from gdnbench.serving.server import Server
from gdnbench.values.errors import EnvironmentMissing
from standins import MARK, command_line, failure, first_process

pytestmark = pytest.mark.slow
LENGTH = 24


@dataclass
class Request:
    prompt: str
    prompt_len: int = 0
    output_len: int = LENGTH


PROBLEMS = repository() / "datasets" / "word-problems" / "test.jsonl"
QUESTIONS = [json.loads(line)["question"] for line in PROBLEMS.read_text().splitlines()[:16]]
REQUESTS = [Request(f"Question: {question}\nAnswer:") for question in QUESTIONS]


@pytest.fixture(scope="module")
def process() -> PythonProcess:
    try:
        found = release_process(RELEASE, whole=True)
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    return replace(found, env={**found.env, MARK: "real server"})


@pytest.fixture(scope="module")
def plain() -> ServerSetting:
    """The default preset's server."""
    return plan_serve("pr51913.before", "pr51913.after").server


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def server(process: PythonProcess, plain: ServerSetting, directory: Path) -> Iterator[Server]:
    """One server for all tests that do not break it, and in the end for one that does."""
    with Server(process, plain, directory) as server:
        server.start()
        yield server


@contextmanager
def loaded(process: PythonProcess, server: Server, directory: Path, **rest: Any) -> Iterator[LoadGenerator]:
    with LoadGenerator(process, directory / "load.log", **rest) as load:
        load.prepare(
            url=server.url,
            key=server.key,
            model=server.model_name,
            tokenizer=server.setting.tokenizer,
            requests=REQUESTS,
            sampling={"temperature": 0},
            ignore_eos=True,
        )
        yield load


@pytest.fixture(scope="module")
def blocks(process: PythonProcess, server: Server, directory: Path) -> dict[str, BlockReply]:
    """Blocks of the same requests, one after another; the first one counts for nothing."""
    with loaded(process, server, directory) as load:
        names = {"cold": 4, "one": 1, "one again": 1, "four": 4}
        return {
            name: load.block(range(12), concurrency, name.replace(" ", "-"), timeout_s=200, server=server)
            for name, concurrency in names.items()
        }


def middle_of_a_block(process: PythonProcess, server: Server, directory: Path, act: Callable[[], None]) -> str:
    """The line with which a long block fails in whose middle something happens."""
    with loaded(process, server, directory, hang_s=6.0) as load:
        load.block(range(4), 4, "before", timeout_s=60, server=server)
        threading.Timer(1.0, act).start()
        return failure(lambda: load.block([*range(16)] * 40, 2, "broken", timeout_s=120, server=server))


@pytest.mark.parametrize(("name", "concurrency"), [("one", 1), ("four", 4)])
def test_the_figures_of_a_block_agree(blocks: dict[str, BlockReply], name: str, concurrency: int) -> None:
    found = blocks[name]
    assert (found.sent, found.completed, found.failed, found.empty, found.errors) == (12, 12, 0, 0, ())
    assert found.output_tokens == 12 * LENGTH
    figures = {metric: value for metric, value in found.figures.items() if value is not None}
    assert len(figures) == len(found.figures) and min(figures.values()) >= 0
    assert figures["output_throughput"] * found.duration_s == pytest.approx(found.output_tokens)
    tokens = found.input_tokens + found.output_tokens
    assert figures["total_token_throughput"] * found.duration_s == pytest.approx(tokens)
    assert figures["request_throughput"] * found.duration_s == pytest.approx(12)
    in_flight = 12 * (figures["mean_ttft_ms"] + figures["mean_tpot_ms"] * (LENGTH - 1)) / 1000 / found.duration_s
    assert in_flight == pytest.approx(concurrency, rel=0.1)


def test_its_samples_give_its_figures(blocks: dict[str, BlockReply]) -> None:
    found = blocks["four"]
    counts = {name: len(values) for name, values in found.samples.items()}
    # Tokens that a busy machine hands over together are one chunk.
    assert 0.9 * 12 * (LENGTH - 1) <= counts.pop("itl") <= 12 * (LENGTH - 1)
    assert counts == {"ttft": 12, "tpot": 12, "e2el": 12}
    for name, values in found.samples.items():
        assert fmean(values) == pytest.approx(found.figures[f"mean_{name}_ms"], rel=1e-3)
        assert median(values) == pytest.approx(found.figures[f"median_{name}_ms"], rel=1e-3)
        assert max(values) >= (found.figures[f"p99_{name}_ms"] or 0) * 0.999


def test_the_same_requests_get_the_same_answers(blocks: dict[str, BlockReply]) -> None:
    assert blocks["one"].prompts == blocks["one again"].prompts == blocks["four"].prompts
    assert blocks["one"].texts == blocks["one again"].texts


def test_the_server_counts_the_same(blocks: dict[str, BlockReply], server: Server) -> None:
    counted = server.wait_idle()
    assert counted.prompt_tokens == sum(block.input_tokens for block in blocks.values())
    assert counted.generated_tokens == sum(block.output_tokens for block in blocks.values())
    assert (counted.prefix_queries, counted.prefix_hits) == (0, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["0.27.0", "0.28.0", "0.30.0", "0.31.0", "0.32.0"])
def test_the_benchmark_of_another_release_measures_the_same(
    release: str, blocks: dict[str, BlockReply], server: Server, tmp_path: Path
) -> None:
    with loaded(release_process(release, whole=True), server, tmp_path) as load:
        found = load.block(range(12), 1, release, timeout_s=200, server=server)
    same = blocks["one"]
    assert (found.prompts, found.texts) == (same.prompts, same.texts)
    assert (found.completed, found.input_tokens, found.output_tokens) == (12, same.input_tokens, same.output_tokens)
    assert set(found.figures) == set(same.figures) and None not in found.figures.values()


def test_a_server_that_hangs_in_mid_block(process: PythonProcess, server: Server, tmp_path: Path) -> None:
    """The engine's process is stopped; the one that answers /health is not."""
    [engine] = [pid for pid in server.pids() if command_line(pid).startswith("VLLM::EngineCore")]
    try:
        message = middle_of_a_block(process, server, tmp_path, lambda: os.kill(engine, signal.SIGSTOP))
    finally:
        os.kill(engine, signal.SIGCONT)
    assert message == f"the server hangs: no request made progress in 6 s; its log: {server.log}"
    server.wait_idle()


def test_a_server_killed_in_mid_block(process: PythonProcess, server: Server, tmp_path: Path) -> None:
    """The last test of the shared server."""
    pid = first_process(server)
    message = middle_of_a_block(process, server, tmp_path, lambda: os.kill(pid, signal.SIGKILL))
    assert message == f"the server died while running (SIGKILL): something killed it; its log: {server.log}"
    assert server.pids() == []


@pytest.mark.thorough
def test_drafts_are_counted(process: PythonProcess, tmp_path: Path) -> None:
    """Each streamed chunk is a step, so the time between chunks is that of a token times the acceptance length."""
    drafting = plan_serve("pr52078.before", "pr52078.after", speculative="mtp").server
    with Server(process, drafting, tmp_path) as server:
        server.start()
        with loaded(process, server, tmp_path) as load:
            load.block(range(16), 4, "cold", timeout_s=200, server=server)
            found = load.block(range(16), 1, "warm", timeout_s=200, server=server)
    assert found.acceptance is not None
    assert found.acceptance.draft_tokens == 2 * found.acceptance.drafts > 0
    assert 1.5 < found.acceptance.length <= 3
    chunk, token = found.figures["mean_itl_ms"], found.figures["mean_tpot_ms"]
    assert chunk is not None and token is not None
    assert chunk / token == pytest.approx(found.acceptance.length, rel=0.1)


def not_started(process: PythonProcess, setting: ServerSetting, directory: Path, **rest: Any) -> str:
    """The line with which a server fails to start."""
    with Server(process, setting, directory, **rest) as server:
        message = failure(server.start)
        assert message.endswith(f"its log: {server.log}")
    assert server.pids() == []
    return message


def test_out_of_memory_at_start(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    greedy = replace(plain, settings={**plain.settings, "VLLM_CPU_KVCACHE_SPACE": "100000"})
    assert "did not start (status 1): out of memory: Available memory" in not_started(process, greedy, tmp_path)


@pytest.mark.thorough
def test_memory_that_runs_out_at_start(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    class Limited:
        env = process.env

        def command(self, module: str, *arguments: str) -> list[str]:
            limit = ["prlimit", "--as=3000000000"] if module.startswith("vllm") else []
            return [*limit, *process.command(module, *arguments)]

    assert "out of memory on this machine" in not_started(Limited(), plain, tmp_path)


@pytest.mark.thorough
def test_too_little_memory_for_one_request(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    long = replace(plain, flags=(*plain.flags, "--max-model-len", "4000000"))
    message = not_started(process, long, tmp_path, env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})
    assert "out of memory: too little for the KV cache" in message


def test_an_unknown_model(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    assert "no such model on this machine" in not_started(process, replace(plain, model="no/such-model"), tmp_path)


@pytest.mark.thorough
def test_an_unknown_argument(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    message = not_started(process, replace(plain, flags=("--no-such-flag",)), tmp_path)
    assert "this release of vLLM knows no argument --no-such-flag" in message


def test_a_port_lost_to_another(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    with socket.socket() as other, Server(process, plain, tmp_path) as server:
        server.launch()
        other.bind(("127.0.0.1", server.port))
        other.listen()
        assert "(status 1): its port is taken by another process" in failure(server.wait_ready)


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_a_harness_killed_in_mid_block(
    how: signal.Signals, process: PythonProcess, tmp_path: Path, mark: str, wait_until: Any
) -> None:
    harness = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
        from test_real_server import REQUESTS, loaded
        from gdnbench.oracle.environment import release_process
        from gdnbench.serving.planning import RELEASE, plan_serve
        from gdnbench.serving.server import Server

        process, directory = release_process(RELEASE, whole=True), Path({str(tmp_path)!r})
        with Server(process, plan_serve("pr51913.before", "pr51913.after").server, directory) as server:
            server.start()
            with loaded(process, server, directory) as load:
                load.block(range(4), 4, "before", timeout_s=60, server=server)
                print("ready", flush=True)
                load.block([*range(16)] * 40, 2, "broken", timeout_s=120, server=server)
    """)
    env = {**os.environ, MARK: mark}
    with subprocess.Popen([sys.executable, "-c", harness], env=env, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        assert len(marked(MARK, mark)) >= 5
        parent.send_signal(how)
    wait_until(lambda: marked(MARK, mark) == [], seconds=30)


@pytest.mark.thorough
def test_an_engine_killed_in_mid_block(process: PythonProcess, plain: ServerSetting, tmp_path: Path) -> None:
    with Server(process, plain, tmp_path) as server:
        server.start()
        [engine] = [pid for pid in server.pids() if command_line(pid).startswith("VLLM::EngineCore")]
        message = middle_of_a_block(process, server, tmp_path, lambda: os.kill(engine, signal.SIGKILL))
        assert "the server died while running (status 0): its engine process died" in message
    assert server.pids() == []


ANSWERS: dict[str, list[str]] = {}
"""By release."""


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["0.29.0", "0.30.0", "0.31.0", "0.32.0"])
def test_a_release_over_the_environment_is_itself(
    release: str, process: PythonProcess, plain: ServerSetting, tmp_path: Path
) -> None:
    """Its version, its native library, and the answers that the model gives in the other releases, near-ties aside."""
    own = release_process(release, whole=True)
    overlay = own.env["PYTHONPATH"].split(os.pathsep)[1:]
    with Server(own, plain, tmp_path) as server:
        server.start()
        assert told(server, "/version") == {"version": release}
        maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in server.pids())
        libraries = {line.split()[-1] for line in maps.splitlines() if "/vllm/_C" in line}
        assert libraries and all(library.startswith(overlay[0]) for library in libraries if overlay)
        prompts = [request.prompt for request in REQUESTS]
        body = {"model": server.model_name, "prompt": prompts, "temperature": 0, "max_tokens": 64}
        ANSWERS[release] = [choice["text"] for choice in told(server, "/v1/completions", body)["choices"]]
    first = next(iter(ANSWERS.values()))
    assert sum(map(eq, first, ANSWERS[release])) >= len(REQUESTS) - 1


def told(server: Server, path: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(server.url + path, data, headers), timeout=120) as answer:
        return json.load(answer)
