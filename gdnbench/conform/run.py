"""Runs jobs in release processes: one process for each release, so that its vLLM is imported once; few at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gdnbench.campaign.pipes import raise_failure
from gdnbench.conform.goldens import Golden
from gdnbench.conform.jobs import Job, Row
from gdnbench.conform.processes import Workers
from gdnbench.oracle.environment import release_process
from gdnbench.oracle.wheels import Say, quiet

WORKER = "gdnbench.conform.worker"


def run(jobs: Sequence[Job], *, say: Say = quiet) -> Iterator[tuple[Row, Golden | None]]:
    """The row of each job as it is found, those that cannot be driven first; with it the golden, if it was asked for.

    Raises:
        UserError, EnvironmentMissing: a release cannot be had, or its process ended early.
        RuntimeError: a fault of this project's, in a release process.
    """
    batches: dict[str, list[Job]] = {}
    for job in jobs:
        if job.part.oracle is None:
            yield Row.of(job), None
        else:
            batches.setdefault(job.release, []).append(job)
    processes = {release: release_process(release, say=say) for release in batches}
    with Workers(WORKER) as workers:
        for release, batch in batches.items():
            workers.queue(processes[release], [json.dumps(job.as_dict()) for job in batch])
        for line in workers.answers():
            answer = json.loads(line)
            raise_failure(answer)
            yield Row(**answer["row"]), answer["golden"]
