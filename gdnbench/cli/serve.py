"""gdnbench serve: throughput and latency of a live server, before against after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.executor_options import AddressOption, ExecutorOption, executor_of, say
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

gdnbench serve pr51913.before pr51913.after --concurrency 1,16

gdnbench serve pr52078.before pr52078.after --speculative mtp

gdnbench serve pr51913.after pr51913.after+100us --concurrency 1

gdnbench serve vllm@0.30.0 vllm@0.31.0 --launches 3"""


def serve(
    before: Annotated[str | None, typer.Argument(metavar="A", help="The before side, e.g. pr51913.before.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help="The after side, e.g. vllm@0.29.0.")] = None,
    concurrency: Annotated[str, typer.Option(help="Requests in flight, e.g. 1,16.")] = "1,16",
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh servers. Default: the fewest that can say something.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Blocks of each side in a launch. Default: the preset's.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="switch: both sides in one server, in turns; apart: a server each. Default: switch if sound."
        ),
    ] = None,
    preset: PresetOption = "tiny-cpu",
    release: ReleaseOption = None,
    model: ModelOption = None,
    tokenizer: TokenizerOption = None,
    speculative: SpeculativeOption = None,
    dataset: Annotated[
        Path | None, typer.Option(help="A ShareGPT file. Default: our generator, sharegpt-like.")
    ] = None,
    output_len: Annotated[int | None, typer.Option(min=1, max=100_000, help="Tokens of each answer.")] = None,
    seed: Annotated[int, typer.Option(help="Of the choice and order of requests.")] = 0,
    server_flag: ServerFlagOption = None,
    observation: Annotated[
        bool,
        typer.Option("--observation", help="What observing builds costs: A is observed in every third step."),
    ] = False,
    keep: Annotated[Path | None, typer.Option(help="Write the whole campaign to this new file (.json.gz).")] = None,
    recording: Annotated[Path | None, typer.Option(help="Judge a campaign that --keep wrote; measure nothing.")] = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the campaign in this directory.")] = None,
    history: HistoryOption = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Measure real vLLM under load: tok/s, TTFT, TPOT, ITL, with both sides and the before side against itself."""
    from gdnbench.campaign.progress import stages
    from gdnbench.history.of_serve import serve_run
    from gdnbench.history.recorder import recorder
    from gdnbench.report.serving import print_json, print_tables
    from gdnbench.serving import campaign
    from gdnbench.serving.journal import ServeJournal
    from gdnbench.serving.judged import judge_serving
    from gdnbench.serving.planning import plan_serve, same_sides
    from gdnbench.serving.recording import load, save
    from gdnbench.values.errors import UserError

    failing = exits.verdict_names(fail_on)
    record = recorder(history)
    if recording is not None:
        judged_plan, found = load(recording)
        same_sides(judged_plan, before, after)
        place = recording
    else:
        if keep is not None and keep.exists():
            raise UserError(f"--keep {keep}: it is there already, and a recording is never overwritten")
        journal: ServeJournal | None = None
        if resume is not None:
            journal = ServeJournal.open(resume)
            plan = journal.plan
            same_sides(plan, before, after)
        elif before is None or after is None:
            raise UserError("two variants are needed, for example: gdnbench serve pr51913.before pr51913.after")
        else:
            plan = plan_serve(
                before,
                after,
                concurrency=_numbers(concurrency),
                launches=launches,
                rounds=rounds,
                method=method,
                preset_name=preset,
                release=release,
                model=model,
                tokenizer=tokenizer,
                speculative=speculative,
                dataset=dataset,
                output_len=output_len,
                seed=seed,
                flags=server_flag or (),
                observation=observation,
            )
        with executor_of(executor, address) as machines:
            machines.prepare(campaign.needs(plan, journal.hardware if journal else None), say)
            journal = journal or campaign.begin(plan)
            with stages() as tell:
                found = campaign.run(journal, lambda done, total: tell("blocks", done, total), machines)
        judged_plan, place = journal.plan, journal.directory
        if keep is not None:
            save(judged_plan, found, keep)
    if judged_plan.observation:
        from gdnbench.report.observation import print_observation
        from gdnbench.serving.judging.observation import judge_observation

        cost = judge_observation(judged_plan, found)
        print_observation(judged_plan, cost, place, as_json=json)
        return exits.status_of([cost.judgement.verdict], failing)
    result = judge_serving(judged_plan, found)
    (print_json if json else print_tables)(judged_plan, found, result, place)
    record(lambda: serve_run(judged_plan, found, result))
    return exits.status_of([result.verdict, *(row.judgement.verdict for row in result.primary)], failing)


def _numbers(text: str) -> list[int]:
    from gdnbench.values.errors import UserError

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(1 <= number <= 4096 for number in numbers):
        raise UserError(f"--concurrency {text}: numbers from 1 to 4096 are needed, such as 1,16")
    return numbers


serve.__doc__ = f"{serve.__doc__}\n\n{EXAMPLES}"
