"""Trains the tiny GDN model: `python -m gdnbench.tiny_model.train --out datasets/tiny-gdn [--work DIR]`.

First the model itself, then its multi-token-prediction head on the finished model. Needs the release environment.
Checkpoints go to the working folder every few hundred steps, and a run that was stopped goes on from the last one,
with the same batches as if it had not been stopped.
"""

from __future__ import annotations

import argparse
import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as functional
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import Qwen3NextForCausalLM

from gdnbench.tiny_model.batches import IGNORED, Batch, batches
from gdnbench.tiny_model.export import write
from gdnbench.tiny_model.fast_training import fast_training
from gdnbench.tiny_model.model import new_model
from gdnbench.tiny_model.mtp import MultiTokenHead, draft_loss
from gdnbench.tiny_model.tokenizer import learn

SEED = 51_565
BATCH = 16
CHECKPOINT_EVERY = 200
LOG_EVERY = 20
LOG = "training.log"


@dataclass(frozen=True)
class Phase:
    """One part of the training: AdamW with a warm-up and a cosine down to nothing."""

    name: str
    steps: int
    rate: float
    warmup: int = 100
    decay: float = 0.05

    def rate_at(self, step: int) -> float:
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - self.warmup) / (self.steps - self.warmup)))


MAIN = Phase("model", steps=2600, rate=3e-3)
HEAD = Phase("head", steps=450, rate=3e-3)


def train(phase: Phase, module: nn.Module, loss: Callable[[Batch], Tensor], data: Iterator[Batch], work: Path) -> None:
    """Brings `module`'s parameters to where `loss` is small; goes on from a checkpoint in `work` if there is one."""
    optimizers = _optimizers(module, phase)
    checkpoint = work / f"{phase.name}.pt"
    done = _resume(checkpoint, module, optimizers)
    _shorten_log(work, phase.name, done)
    started, recent = time.monotonic(), []
    for step, batch in enumerate(islice(data, done, phase.steps), start=done):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = phase.rate_at(step)
        value = loss(batch)
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        recent.append(value.item())
        if (step + 1) % LOG_EVERY == 0:
            mean = sum(recent) / len(recent)
            pace = (time.monotonic() - started) / (step + 1 - done)
            _log(work, f"{phase.name} step {step + 1} loss {mean:.4f} rate {phase.rate_at(step):.2e} {pace:.2f} s/step")
            recent.clear()
        if (step + 1) % CHECKPOINT_EVERY == 0 or step + 1 == phase.steps:
            _save(checkpoint, module, optimizers, step + 1)


def answer_loss(model: Qwen3NextForCausalLM, batch: Batch) -> Tensor:
    """The mean cross entropy of the answers' tokens."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(batch.tokens, use_cache=False).last_hidden_state[:, :-1]
        wanted = batch.labels[:, 1:]
        asked = wanted != IGNORED
        logits = model.lm_head(hidden[asked])
    return functional.cross_entropy(logits.float(), wanted[asked])


def _optimizers(module: nn.Module, phase: Phase) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, which learns in fewer steps; AdamW for all else."""
    named = list(module.named_parameters())
    inner = [p for name, p in named if p.dim() == 2 and "embed" not in name and "head" not in name]
    chosen = {id(p) for p in inner}
    others = [p for _, p in named if id(p) not in chosen]
    muon = torch.optim.Muon(inner, lr=phase.rate, weight_decay=phase.decay, adjust_lr_fn="match_rms_adamw")
    return [muon, torch.optim.AdamW(others, lr=phase.rate, betas=(0.9, 0.98), weight_decay=0.0)]


def _resume(checkpoint: Path, module: nn.Module, optimizers: list[torch.optim.Optimizer]) -> int:
    if not checkpoint.exists():
        return 0
    state = torch.load(checkpoint, weights_only=True)
    module.load_state_dict(state["module"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return int(state["steps"])


def _save(checkpoint: Path, module: nn.Module, optimizers: list[torch.optim.Optimizer], steps: int) -> None:
    aside = checkpoint.with_suffix(".part")
    saved = [optimizer.state_dict() for optimizer in optimizers]
    torch.save({"module": module.state_dict(), "optimizers": saved, "steps": steps}, aside)
    aside.replace(checkpoint)


def _log(work: Path, line: str) -> None:
    print(line, flush=True)
    with (work / LOG).open("a") as file:
        file.write(line + "\n")


def _shorten_log(work: Path, phase: str, steps: int) -> None:
    """Takes the lines out of the log that belong to steps which are about to be run again."""
    log = work / LOG
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    log.write_text("".join(line for line in lines if line.split()[0] != phase or int(line.split()[2]) <= steps))


def _tokenizer(work: Path) -> Tokenizer:
    path = work / "tokenizer.json"
    if not path.exists():
        learn().save(str(path))
    return Tokenizer.from_file(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description="trains the tiny GDN model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/tiny-gdn"))
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(work)
    torch.manual_seed(SEED)
    model = new_model(tokenizer)
    head = MultiTokenHead(model.config)
    with fast_training():
        train(MAIN, model, lambda batch: answer_loss(model, batch), batches(tokenizer, BATCH, SEED), work)
        model.requires_grad_(False)
        train(HEAD, head, lambda batch: draft_loss(model, head, batch), batches(tokenizer, BATCH, SEED + 1), work)
    write(model, head, tokenizer, options.out)
    shutil.copyfile(work / LOG, options.out / LOG)


if __name__ == "__main__":
    main()
