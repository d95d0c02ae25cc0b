"""What a GPU is asked in a few minutes: does the trace tell the truth, what does a step cost, how long does it take?

`python -m gdnbench.campaign.gpu_check --out reports/gpu` needs Python, torch and NumPy alone. It writes one new
directory named after the date and the device, and keeps within its time: campaigns that would not fit are named.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from gdnbench.campaign import campaign
from gdnbench.campaign.costs import count_costs
from gdnbench.campaign.judged import judge_campaign
from gdnbench.campaign.plan import compare, with_limit
from gdnbench.devices import selfcheck
from gdnbench.oracle.cache import write_aside
from gdnbench.probes.unit_costs import measure
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.variants import Variant, parse

BUDGET_S = 440.0
"""Of the eight minutes that a check may take; the rest is for starting and writing."""

LAUNCHES = 6
"""The fewest that can say anything of one row."""


@dataclass(frozen=True, slots=True)
class Question:
    """One campaign of the check; the first scenario is the one that it asks about."""

    change: int
    part: str
    scenarios: tuple[str, ...]


QUESTIONS = (
    Question(51913, "build", ("16q1s1k", "q1s1k", "16q1s1k/eager", "16q1s1k/g30", "16q9s1kd8/v2")),
    Question(52078, "build", ("16q9s1kd8", "q9s1kd8", "8q9s1kd8_6q1s1k_2q128", "16q9s1kd8/v2")),
    Question(51565, "build", ("16q1s1k", "15q1s1k_q1s1p64", "15q1s1k_q2k")),
    Question(55404, "capture", ("16q9s1k/spec8/capture", "16q1s1k/capture")),
    Question(40654, "mla", ("12q9s1kd8_2q200s1k_2q128/async", "14q1s1k_2q300s1k/v2")),
    Question(40654, "slices", ("12q9s1kd8_2q200s1k_2q128/async", "14q1s1k_2q300s1k/v2")),
)


def check(out: Path, budget_s: float = BUDGET_S) -> Path:
    """Ask everything that fits into the budget; the directory with the answers.

    Raises:
        EnvironmentMissing: there is no GPU.
    """
    if not torch.cuda.is_available():
        raise EnvironmentMissing("no GPU here: nothing to check, and nothing is missing for work on a CPU")
    started, clock = datetime.now(UTC), time.monotonic()
    device = torch.cuda.get_device_name(0)
    directory = out / f"{started:%Y-%m-%dT%H%M%SZ}-{'-'.join(device.lower().split())}"
    directory.mkdir(parents=True)
    answers: dict[str, Any] = {"device": device, "started": started.isoformat(timespec="seconds")}
    answers["torch"], answers["cuda"] = torch.__version__, torch.version.cuda
    answers["selfcheck"] = [line.to_json() for line in selfcheck.check_all()]
    answers["unit_costs_us"] = measure(torch.device("cuda"))
    answers["costs"] = {question.change: _costs(question) for question in QUESTIONS}
    answers["step_time"] = list(_campaigns(directory, clock + budget_s))
    answers["seconds"] = round(time.monotonic() - clock, 1)
    write_aside(directory / "check.json", json.dumps(answers, indent=1) + "\n")
    return directory


def _sides(question: Question) -> tuple[Variant, Variant]:
    return parse(f"pr{question.change}.before"), parse(f"pr{question.change}.after")


def _costs(question: Question) -> dict[str, Any]:
    counted = count_costs(*_sides(question), question.scenarios, question.part)
    return {part: one.result.to_json() for part, one in counted.items()}


def _campaigns(directory: Path, deadline: float) -> Iterator[dict[str, Any]]:
    longest = 0.0
    for question in QUESTIONS:
        began = time.monotonic()
        named = {"change": question.change, "part": question.part}
        if began + longest > deadline:
            yield {**named, "left_out": "the time was up"}
            continue
        print(f"step time: {question.change} {question.part}", file=sys.stderr, flush=True)
        plan = with_limit(
            compare(
                *_sides(question),
                question.scenarios,
                question.part,
                device="cuda",
                launches=LAUNCHES,
                rounds=20,
                primary=question.scenarios[:1],
            )
        )
        journal = campaign.begin(plan, directory / f"{question.change}-{question.part.replace(' ', '-')}")
        try:
            yield {**named, **judge_campaign(plan, campaign.run(journal)).to_json()}
        except UserError as error:
            yield {**named, "left_out": str(error)}
        longest = max(longest, time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the harness on a GPU, with torch and NumPy alone.")
    parser.add_argument("--out", type=Path, default=Path("reports/gpu"), help="where the answers go")
    parser.add_argument("--seconds", type=float, default=BUDGET_S, help="how long step time may take")
    options = parser.parse_args()
    try:
        directory = check(options.out, options.seconds)
    except UserError as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return error.exit_code
    print(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
