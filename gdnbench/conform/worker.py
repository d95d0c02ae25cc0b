"""Runs in a release process: reads jobs, one JSON object a line, and answers each with its row."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

from gdnbench.campaign.pipes import failure, leave, private_stdout
from gdnbench.campaign.processes import die_with_parent
from gdnbench.conform.comparison import Comparison
from gdnbench.conform.goldens import Golden, record
from gdnbench.conform.jobs import Job, Row
from gdnbench.conform.selection import select
from gdnbench.drivers.registry import load
from gdnbench.oracle.inside import require_release


def conform(job: Job) -> tuple[Row, Golden | None]:
    """Holds the part against the release that this process imports, and records the release's results if asked."""
    assert job.part.oracle is not None, job
    ours, theirs = load(job.part.ours), load(job.part.oracle)
    comparison = Comparison(job, ours, theirs)
    for scenario in select((ours, theirs), job.random, job.seed):
        comparison.compare(scenario)
    return comparison.finish(), record(job, ours, theirs) if job.golden else None


def answer(line: str, out: TextIO) -> None:
    """Answers one job."""
    reply: dict[str, Any]
    try:
        job = Job.from_dict(json.loads(line))
        require_release(job.release)
        row, recorded = conform(job)
        reply = {"row": row.as_dict(), "golden": recorded}
    except Exception as error:
        reply = failure(error)
    print(json.dumps(reply), file=out, flush=True)


def main() -> None:
    """Answers until its input ends."""
    die_with_parent()
    out = private_stdout()
    for line in sys.stdin:
        answer(line, out)
    leave(0)


if __name__ == "__main__":
    main()
