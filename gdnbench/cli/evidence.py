"""`gdnbench evidence`: everything measured about one change, as a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.history_option import HistoryOption
from gdnbench.cli.server_options import ModelOption, TokenizerOption
from gdnbench.values.errors import UserError

if TYPE_CHECKING:
    from gdnbench.report.gather import AccuracyQuestion, ServerQuestion
    from gdnbench.values.runs import Run

QUICK_DOCUMENTS = 300


def evidence(
    change: Annotated[int, typer.Argument(metavar="N", help="A change of the catalogue, e.g. 51913.")],
    device: Annotated[str, typer.Option(help="Where step time is measured: cpu or cuda.")] = "cpu",
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh processes. Default: 10, or what the rows need.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="quick: a first look in a quarter of an hour; full: what a verdict may need.")
    ] = "quick",
    out: Annotated[Path, typer.Option(help="Where reports lie; this one goes to prN/ in it.")] = Path("reports"),
    server: Annotated[
        bool | None,
        typer.Option("--server/--no-server", help="Ask a live server as well. Default: where its environment stands."),
    ] = None,
    accuracy: Annotated[
        bool | None,
        typer.Option("--accuracy/--no-accuracy", help="Compare answers as well. Default: where a server is asked."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Its setting. Default on a CPU: tiny-cpu.")] = None,
    model: ModelOption = None,
    tokenizer: TokenizerOption = None,
    dataset: Annotated[Path | None, typer.Option(help="Its ShareGPT file. Default: our generator.")] = None,
    server_launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh servers. Default: the fewest that can say something.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the step campaign in this directory.")] = None,
    resume_server: Annotated[Path | None, typer.Option(help="Go on with the server campaign in it.")] = None,
    resume_accuracy: Annotated[Path | None, typer.Option(help="Go on with the comparison of answers in it.")] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(help='Stated of this measurement, e.g. "output_tps +7% @ concurrency=1"; may be repeated.'),
    ] = None,
    history: HistoryOption = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Measure a change and write its report: equality, exact costs, step time, a live server, answers, claims."""
    from gdn_impl.catalog import CATALOG
    from gdnbench.campaign.progress import stages
    from gdnbench.history.recorder import recorder
    from gdnbench.report.gather import ServerQuestion, gather
    from gdnbench.report.write import say, write
    from gdnbench.values.claims import parse_claim

    failing = exits.verdict_names(fail_on)
    record = recorder(history)
    if change not in CATALOG:
        known = ", ".join(map(str, sorted(CATALOG)))
        raise UserError(f"no change {change} in the catalogue; known: {known}")
    if device not in ("cpu", "cuda"):
        raise UserError(f"--device {device}: there are cpu and cuda")
    if profile not in ("quick", "full"):
        raise UserError(f"--profile {profile}: there are quick and full")
    asked = _why_no_server(server, device, named=bool(preset or resume_server)) or ServerQuestion(
        preset or "tiny-cpu",
        dataset=dataset,
        launches=server_launches,
        journal=resume_server,
        quick=profile == "quick",
        model=model,
        tokenizer=tokenizer,
    )
    answers = _accuracy(accuracy, asked, resume_accuracy)
    claims = [parse_claim(text) for text in claim or ()]
    runs: list[Callable[[], Run]] = []
    try:
        with stages() as progress:
            found = gather(CATALOG[change], device, launches, resume, asked, answers, progress, claims, runs.append)
        written = write(found, out)
        say(found, written, as_json)
    finally:  # what is finished is kept, even if the rest was interrupted
        for make in runs:
            record(make)
    return exits.status_of([found.verdict], failing)


def _why_no_server(wanted: bool | None, device: str, named: bool) -> str | None:
    """Why no live server is asked; None if one is.

    Args:
        named: whether a setting was chosen, by its name or by a campaign to go on with.
    """
    from gdnbench.oracle.environment import release_python
    from gdnbench.values.errors import EnvironmentMissing

    if wanted is False:
        return "left out by --no-server"
    if device == "cuda" and not named:
        if wanted:
            raise UserError("--server --device cuda: name a setting with --preset, such as qwen3.6-dflash")
        return "not asked for: --preset names a setting for a GPU"
    try:
        release_python()
    except EnvironmentMissing as missing:
        if wanted:
            raise
        return str(missing)
    return None


def _accuracy(wanted: bool | None, server: ServerQuestion | str, journal: Path | None) -> AccuracyQuestion | str:
    """What to ask of the answers, or why nothing is asked; the setting is the server's."""
    from gdnbench.report.gather import AccuracyQuestion

    if wanted is False:
        return "left out by --no-accuracy"
    if isinstance(server, str):
        if wanted:
            raise UserError(f"--accuracy: no server is asked ({server})")
        return server
    limit = QUICK_DOCUMENTS if server.quick else None
    return AccuracyQuestion(server.preset, limit, journal, server.model, server.tokenizer)


evidence.__doc__ = f"{evidence.__doc__}\n\nExample: gdnbench evidence 51913"
