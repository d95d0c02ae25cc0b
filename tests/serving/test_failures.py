"""What vLLM logs when a server fails is told in a few words. The excerpts are from logs of real 0.29.0 servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdnbench.serving.failures import cause_in, first_error
from gdnbench.serving.logs import last_line, no_room

ARGUMENTS = """\
                     [--enable-log-requests | --no-enable-log-requests]
                     [model_tag]
api_server.py: error: """
STARTING = """\
(APIServer pid=7) WARNING 11-29 23:17:52 [system_utils.py:299] Found ulimit of 20000 and failed to automatically \
increase with error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: [Errno 24] Too \
many open files`. Consider increasing with ulimit -n
(APIServer pid=7) INFO 11-29 23:18:34 [model.py:684] Resolved architecture: Qwen3NextForCausalLM
"""
INITIALISATION = """\
(APIServer pid=7)     raise RuntimeError(
(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
ENGINE_DIED = """\
(APIServer pid=7) ERROR 11-29 23:23:56 [async_llm.py:819] AsyncLLM output_handler failed.
(APIServer pid=7) ERROR 11-29 23:23:56 [async_llm.py:819] Traceback (most recent call last):
(APIServer pid=7) ERROR 11-29 23:23:56 [async_llm.py:819]     raise self._format_exception(outputs) from None
(APIServer pid=7) ERROR 11-29 23:23:56 [async_llm.py:819] vllm.v1.engine.exceptions.EngineDeadError: EngineCore \
encountered an issue. See stack trace (above) for the root cause.
"""

SIGNS = {
    "unknown argument": (
        ARGUMENTS + "unrecognized arguments: --no-such-flag 3",
        "this release of vLLM knows no argument --no-such-flag 3",
    ),
    "refused value": (
        ARGUMENTS + "argument --max-num-seqs: invalid int value: 'many'",
        "vLLM refuses its arguments: argument --max-num-seqs: invalid int value: 'many'",
    ),
    "KV cache larger than the machine": (
        STARTING
        + "(Worker pid=9) ERROR 11-29 23:18:39 [multiproc_executor.py:1055] ValueError: Available memory on node 0 "
        "(12.36/18.34 GiB) on kv cache allocation is less than requested memory for kv (500.0 GiB). Decrease "
        "--kv-cache-memory-bytes, VLLM_CPU_KVCACHE_SPACE, or reduce CPU memory used by other processes.\n"
        + INITIALISATION,
        "out of memory: Available memory on node 0 (12.36/18.34 GiB) on kv cache allocation is less than requested "
        "memory for kv (500.0 GiB); ask for less by VLLM_CPU_KVCACHE_SPACE",
    ),
    "KV cache too small for a request": (
        "(EngineCore pid=8) ERROR 11-29 23:42:20 [core.py:1374] ValueError: To serve at least one request with the "
        "models's max seq len (4000000), (2.19 GiB KV cache is needed, which is larger than the available KV cache "
        "memory (1.0 GiB).\n" + INITIALISATION,
        "out of memory: too little for the KV cache; give it more, or lower --max-model-len",
    ),
    "address space used up": (
        "(Worker pid=9) ERROR 11-29 23:19:19 [multiproc_executor.py:1055] RuntimeError: [enforce fail at "
        "alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 1073741824 "
        "bytes. Error code 12 (Cannot allocate memory)\n" + INITIALISATION,
        "out of memory on this machine (Cannot allocate memory)",
    ),
    "empty directory for a model": (
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "(APIServer pid=7)   Value error, Invalid repository ID or local directory specified: 'models/none'.\n",
        "no model at models/none: name a directory with a config.json",
    ),
    "name of a model that is not there": (
        "(APIServer pid=7) huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot "
        "folder for the specified revision on the local disk and outgoing traffic has been disabled.",
        "no such model on this machine, and none is downloaded now: fetch it before, or name a directory",
    ),
    "port lost": (
        "(APIServer pid=7) OSError: [Errno 98] Address already in use",
        "its port is taken by another process",
    ),
    "disk full": (
        "(EngineCore pid=8) ERROR 11-29 23:42:20 [core.py:1374] OSError: [Errno 28] No space left on device: 'x'",
        "a disk is full (No space left on device)",
    ),
    "worker killed": (
        "(EngineCore pid=8) ERROR 11-29 23:22:12 [multiproc_executor.py:314] Worker proc VllmWorker-0 died "
        "unexpectedly (exit code: None), shutting down executor.\n"
        "(EngineCore pid=8) ERROR 11-29 23:22:12 [core.py:1376] RuntimeError: cancelled\n" + ENGINE_DIED,
        "a worker process died",
    ),
}

ERRORS = {
    "what pydantic refuses": (
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
        "(APIServer pid=7) method\n(APIServer pid=7)   Input should be 'ngram' or 'mtp'\n",
        "ValidationError: 1 validation error for SpeculativeConfig method Input should be 'ngram' or 'mtp'",
    ),
    "a step that fails": (
        STARTING
        + "(EngineCore pid=8) ERROR 11-29 23:22:12 [core.py:1376] RuntimeError: num_accepted_tokens must be in "
        "[1, seqlen]\n" + ENGINE_DIED,
        "RuntimeError: num_accepted_tokens must be in [1, seqlen]",
    ),
    "engine killed": (
        "(APIServer pid=7) WARNING 11-29 23:23:56 [core_client.py:728] [shutdown] MPClient: engine core exited "
        "unexpectedly; starting cleanup\n" + ENGINE_DIED,
        "its engine process died",
    ),
    "nothing wrong": (STARTING, None),
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_names_its_cause(name: str, tmp_path: Path) -> None:
    log, cause = SIGNS[name]
    (tmp_path / "log").write_text(log)
    assert cause_in(tmp_path / "log") == cause


@pytest.mark.parametrize("name", ERRORS)
def test_without_a_sign_the_first_exception_is_told(name: str, tmp_path: Path) -> None:
    log, error = ERRORS[name]
    (tmp_path / "log").write_text(log)
    assert cause_in(tmp_path / "log") is None
    assert first_error(tmp_path / "log") == error


def test_a_log_that_is_empty_or_missing_tells_nothing(tmp_path: Path) -> None:
    assert cause_in(tmp_path / "log") is None
    (tmp_path / "log").write_bytes(b"\n \xff\n")
    assert first_error(tmp_path / "log") is None
    assert last_line(tmp_path / "none") == "its log is empty"


def test_the_end_of_a_long_log_is_enough(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        log.truncate(1 << 30)
        log.seek(0, 2)
        log.write(b"\nOSError: [Errno 98] Address already in use\n")
    assert cause_in(tmp_path / "log") == "its port is taken by another process"


def test_there_is_room(tmp_path: Path) -> None:
    assert no_room(tmp_path / "log") is None
