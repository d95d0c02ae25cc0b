"""gdnbench accuracy: the same questions to both sides, paired."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, get_args

import typer

from gdnbench.cli import exits
from gdnbench.cli.history_option import HistoryOption
from gdnbench.cli.server_options import (
    ModelOption,
    PresetOption,
    ReleaseOption,
    ServerFlagOption,
    SpeculativeOption,
    TokenizerOption,
)

EXAMPLES = """Examples:

gdnbench accuracy pr51913.before pr51913.after --limit 300

gdnbench accuracy pr52078.before pr52078.after --speculative mtp

gdnbench accuracy pr51913.before pr51913.after --task gsm8k --limit 100 --data DIR

gdnbench accuracy --from DIR_A DIR_B"""


def accuracy(
    before: Annotated[str | None, typer.Argument(metavar="A", help="The before side, e.g. pr51913.before.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help="The after side, e.g. vllm@0.30.0.")] = None,
    task: Annotated[
        str | None, typer.Option(help="word-problems (default) or gsm8k; with --from, which of several tasks.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=2, max=1_000_000, help="Only so many documents.")] = None,
    data: Annotated[Path | None, typer.Option(help="A directory with gsm8k's test.jsonl and train.jsonl.")] = None,
    shots: Annotated[
        int | None, typer.Option(min=0, max=64, help="Examples before each question of gsm8k. Default: 5.")
    ] = None,
    preset: PresetOption = "tiny-cpu",
    release: ReleaseOption = None,
    model: ModelOption = None,
    tokenizer: TokenizerOption = None,
    speculative: SpeculativeOption = None,
    server_flag: ServerFlagOption = None,
    backend: Annotated[
        str, typer.Option(help="How lm-eval asks: local-completions (a server), or vllm (in its own process).")
    ] = "local-completions",
    floor: Annotated[float, typer.Option(help="The smallest difference that matters, in points.")] = 1.0,
    finished: Annotated[
        bool, typer.Option("--from", help="A and B are folders of finished lm-eval runs; nothing is run.")
    ] = False,
    resume: Annotated[Path | None, typer.Option(help="Go on with the comparison in this directory.")] = None,
    history: HistoryOption = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Ask both sides the same questions by lm-eval on real vLLM, the before side twice; judge the answers in pairs."""
    from gdnbench.accuracy import campaign
    from gdnbench.accuracy.judging import judge_accuracy
    from gdnbench.accuracy.outputs import read_output
    from gdnbench.accuracy.plan import Backend
    from gdnbench.accuracy.planning import plan_accuracy
    from gdnbench.campaign.progress import stages
    from gdnbench.history.of_accuracy import accuracy_run
    from gdnbench.history.recorder import recorder
    from gdnbench.report.accuracy import print_json, print_tables
    from gdnbench.serving.planning import same_sides
    from gdnbench.values.errors import UserError

    failing = exits.verdict_names(fail_on)
    record = recorder(history)
    if backend not in get_args(Backend):
        raise UserError(f"--backend {backend}: there are {' and '.join(get_args(Backend))}")
    place: Path | None = None
    if finished:
        if before is None or after is None:
            raise UserError("--from: two folders are needed, for example: gdnbench accuracy --from DIR_A DIR_B")
        if not 0 < floor < 100:
            raise UserError(f"--floor: between 0 and 100 points are needed, not {floor:g}")
        outputs = [read_output(Path(folder).expanduser(), task) for folder in (before, after)]
        result = judge_accuracy(*outputs, floor=floor / 100)
    else:
        if resume is not None:
            journal = campaign.AccuracyJournal.open(resume)
            same_sides(journal.plan, before, after)
        elif before is None or after is None:
            raise UserError("two variants are needed, for example: gdnbench accuracy pr51913.before pr51913.after")
        else:
            plan = plan_accuracy(
                before,
                after,
                task=task or "word-problems",
                data=data,
                shots=shots,
                limit=limit,
                preset_name=preset,
                release=release,
                model=model,
                tokenizer=tokenizer,
                speculative=speculative,
                flags=server_flag or (),
                floor=floor / 100,
                backend="vllm" if backend == "vllm" else "local-completions",
            )
            campaign.check(plan, say=lambda line: print(line, file=sys.stderr))
            journal = campaign.begin(plan)
        with stages() as tell:
            runs = campaign.run(journal, tell)
        result, place = campaign.judge(journal, runs), journal.directory
    (print_json if json else print_tables)(result, place)
    if not finished:  # folders of others are imported by `gdnbench history import`
        record(lambda: accuracy_run(result, journal.plan.change))
    return exits.status_of([result.verdict], failing)


accuracy.__doc__ = f"{accuracy.__doc__}\n\n{EXAMPLES}"
