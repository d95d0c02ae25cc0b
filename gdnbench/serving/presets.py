"""Server settings by name: what is served, how, and under how much load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.serving.plan import Load
from gdnbench.values.errors import UserError

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Preset:
    """One setting.

    Attributes:
        name: of the setting.
        about: what it is, one line.
        model: a directory or a name that vLLM knows.
        flags: further arguments of the server.
        settings: environment variables.
        speculative: its own speculative configuration, by the word that `--speculative` takes.
        speculates: whether it does so unless told otherwise: that word, or None.
        device: `cpu` or `cuda`.
        output_len: tokens of each answer.
        prompts: distinct ones, at most.
        loads: for the concurrencies that it was tuned for.
        quick: the same for a first look, in which all concurrencies together take about a minute of a launch.
    """

    name: str
    about: str
    model: str
    flags: tuple[str, ...]
    settings: Mapping[str, str]
    speculative: Mapping[str, Mapping[str, Any]]
    speculates: str | None
    device: str
    output_len: int
    prompts: int
    loads: tuple[Load, ...]
    quick: tuple[Load, ...]

    def load(self, concurrency: int, quick: bool = False) -> Load:
        """The load at a concurrency, tuned or derived from the nearest that is."""
        nearest = min(self.quick if quick else self.loads, key=lambda load: abs(load.concurrency - concurrency))
        if nearest.concurrency == concurrency:
            return nearest
        return Load(concurrency, max(concurrency, nearest.requests), nearest.rounds)


_CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
}
"""One thread: with more, blocks of identical requests vary ten times as much on two cores. And the model in the process
of the engine: else the two wait for each other by spinning, on cores that the rest of the server needs."""

_ALWAYS = ("--no-enable-prefix-caching", "--disable-uvicorn-access-log")
"""Prompts come again in every block, so a prefix cache would answer for the prefill; and a log line for each request
tells nothing."""

TINY_CPU = Preset(
    name="tiny-cpu",
    about="a GDN model of 1.65 million parameters on a CPU, eager",
    model=str(ROOT / "datasets" / "tiny-gdn"),
    flags=("--enforce-eager", "--dtype", "bfloat16", "--max-num-seqs", "16", "--max-model-len", "2560", *_ALWAYS),
    settings=_CPU,
    speculative={"mtp": {"method": "mtp", "num_speculative_tokens": 2}},
    speculates=None,
    device="cpu",
    output_len=32,
    prompts=64,
    loads=(Load(1, requests=1, rounds=48), Load(16, requests=16, rounds=64)),
    quick=(Load(1, requests=1, rounds=48), Load(16, requests=16, rounds=24)),
)

QWEN_DFLASH = Preset(
    name="qwen3.6-dflash",
    about="the published setting: Qwen3.6-35B-A3B with the DFlash drafter, 8 drafts, on one H200",
    model="Qwen/Qwen3.6-35B-A3B",
    flags=("--tensor-parallel-size", "1", "--max-num-seqs", "16", *_ALWAYS),
    settings={},
    speculative={
        "dflash": {"method": "dflash", "model": "z-lab/Qwen3.6-35B-A3B-DFlash", "num_speculative_tokens": 8},
    },
    speculates="dflash",
    device="cuda",
    output_len=300,
    prompts=960,
    loads=(Load(1, requests=2, rounds=10), Load(16, requests=64, rounds=5)),
    quick=(Load(1, requests=2, rounds=10), Load(16, requests=64, rounds=5)),
)

PRESETS = {preset.name: preset for preset in (TINY_CPU, QWEN_DFLASH)}


def preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        UserError: there is none.
    """
    if name not in PRESETS:
        raise UserError(f"--preset {name}: known are {', '.join(PRESETS)}")
    return PRESETS[name]
