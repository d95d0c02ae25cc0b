"""The load generator answers with what vLLM's benchmark measured; where it or the server fails, one line says which."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gdnbench.serving.load import LoadGenerator
from gdnbench.serving.load_process import digest, summary
from gdnbench.serving.plan import ServerSetting
from gdnbench.serving.process_tree import marked
from gdnbench.serving.records import Acceptance
from gdnbench.serving.server import Server
from standins import MARK, break_engine, failure, first_process


@dataclass
class Request:
    prompt: str = "Why?"
    prompt_len: int = 4
    output_len: int = 8


@pytest.fixture
def run(stand_in: Any, setting: ServerSetting, tmp_path: Path, mark: str) -> Any:
    """Runs one block against a server of ours; meanwhile something may be done to the server."""

    def run(
        behaviour: str = "well",
        timeout_s: float = 20.0,
        before: Callable[[Server], Any] = lambda server: None,
        during: Callable[[Server], Any] = lambda server: None,
    ) -> Any:
        process = stand_in(STANDIN_LOAD=behaviour)
        with (
            LoadGenerator(process, tmp_path / "load.log", hang_s=1.2) as load,
            Server(process, setting, tmp_path) as server,
        ):
            server.start()
            load.prepare(
                url=server.url,
                key=server.key,
                model=server.model_name,
                tokenizer="none",
                requests=[Request()] * 2,
                sampling={"temperature": 0},
                ignore_eos=True,
            )
            before(server)
            threading.Timer(0.3, during, [server]).start()
            return load.block([0, 1], 2, "1-1", timeout_s=timeout_s, server=server)

    yield run
    assert marked(MARK, mark) == []


def result(**changes: Any) -> dict[str, Any]:
    """As vLLM's benchmark gives it: two requests of three tokens, one of one token, one that failed."""
    found = {
        "duration": 0.5,
        "completed": 3,
        "total_input_tokens": 12,
        "total_output_tokens": 7,
        "request_throughput": 6.0,
        "output_throughput": 14.0,
        "total_token_throughput": 38.0,
        "output_lens": [3, 3, 1, 0],
        "ttfts": [0.1, 0.2, 0.3, 0.0],
        "itls": [[0.01, 0.03], [0.04], [], []],
        "generated_texts": ["a", "b", "c", ""],
        "errors": ["", "", "", "Traceback\n  File\nClientError: refused\n"],
    }
    for metric in ("ttft", "tpot", "itl", "e2el"):
        found |= {f"{statistic}_{metric}_ms": 20.0 for statistic in ("mean", "median", "std", "p99")}
    return found | changes


def test_samples_are_defined_as_vllm_defines_them() -> None:
    found = summary(result(), ["p"] * 4)
    assert found["samples"]["ttft"] == [100.0, 200.0, 300.0]
    assert found["samples"]["tpot"] == [20.0, 20.0], "one of one token has none; a chunk may hold several tokens"
    assert found["samples"]["itl"] == [10.0, 30.0, 40.0]
    assert found["samples"]["e2el"] == [140.0, 240.0, 300.0]
    assert (found["sent"], found["completed"], found["failed"]) == (4, 3, 1)
    assert found["errors"] == ["ClientError: refused"]


def test_what_was_not_measured_is_none_and_not_zero() -> None:
    ones = {"output_lens": [1, 1, 1, 0], "itls": [[], [], [], []], "mean_tpot_ms": 0.0, "mean_itl_ms": 0.0}
    figures = summary(result(**ones), ["p"] * 4)["figures"]
    assert figures["mean_tpot_ms"] is None and figures["p99_itl_ms"] is None
    assert figures["mean_ttft_ms"] == 20.0


def test_a_block_that_failed_altogether_has_no_figures() -> None:
    nothing = {"completed": 0, "errors": ["Unauthorized"] * 4, "ttfts": [0.0] * 4, "output_lens": [0] * 4}
    found = summary(result(**nothing, itls=[[]] * 4), ["p"] * 4)
    assert set(found["figures"].values()) == {None}
    assert not any(found["samples"].values())
    assert (found["failed"], found["errors"]) == (4, ["Unauthorized"])


def test_successes_without_a_token_are_counted() -> None:
    assert summary(result(output_lens=[3, 0, 1, 0]), ["p"] * 4)["empty"] == 1


def test_a_count_that_contradicts_the_answers_is_refused() -> None:
    with pytest.raises(ValueError, match="4 requests are said to be completed, and 3 have an answer"):
        summary(result(completed=4), ["p"] * 4)


def test_acceptance_is_vllms() -> None:
    counts = {"num_drafts": 5, "draft_tokens": 10, "accepted_tokens": 7}
    found = summary(result(**{f"spec_decode_{name}": n for name, n in counts.items()}), ["p"] * 4)
    assert found["acceptance"] == {"drafts": 5, "draft_tokens": 10, "accepted": 7}
    assert summary(result(), ["p"] * 4)["acceptance"] is None


def test_a_digest_tells_texts_and_their_order_apart() -> None:
    assert digest(["a", "b"]) == digest(["a", "b"]) != digest(["b", "a"]) != digest(["ab"])
    assert len(digest([])) == 16


def test_a_block_is_answered(run: Any) -> None:
    reply = run()
    assert (reply.completed, reply.figures["output_throughput"], reply.samples["ttft"]) == (2, 8.0, [10.0, 11.0])
    assert reply.acceptance == Acceptance(4, 8, 6)
    assert reply.acceptance.length == 2.5


def test_a_load_generator_that_dies_is_told_from_the_server(run: Any, tmp_path: Path) -> None:
    message = failure(lambda: run("dies"))
    assert message.startswith(
        "the load generator died (SIGABRT); the server lives; last line 'import of the benchmark'"
    )
    assert message.endswith(f"its log: {tmp_path / 'load.log'}")


def test_one_that_fails_says_why(run: Any) -> None:
    assert "the load generator failed: ValueError: nothing to send; the server lives" in failure(lambda: run("fails"))


def test_one_that_takes_too_long_is_given_up(run: Any) -> None:
    assert "the load generator gave no answer in 0.6 s; the server lives" in failure(lambda: run("hangs", 0.6))


def test_a_server_without_progress_hangs(run: Any) -> None:
    assert "the server hangs: no request made progress in 1.2 s" in failure(lambda: run("hangs"))


def test_a_server_that_dies_under_load_is_noticed(run: Any, tmp_path: Path) -> None:
    begun = time.monotonic()
    message = failure(lambda: run("hangs", during=lambda server: os.kill(first_process(server), signal.SIGKILL)))
    assert "the server died while running (SIGKILL)" in message
    assert message.endswith(f"its log: {tmp_path / 'server.log'}")
    assert time.monotonic() - begun < 15


def test_answers_cut_short_ask_whether_the_server_lives(run: Any) -> None:
    assert run("short").output_tokens == 3
    message = failure(lambda: run("short", before=break_engine))
    assert "the server died while running (status 0)" in message
