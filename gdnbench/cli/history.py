"""`gdnbench history`: the runs that were kept, on this machine or anywhere that fsspec reaches."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, get_args

import typer

from gdnbench.cli import exits
from gdnbench.history.doors import VARIABLE, open_history, time_of
from gdnbench.oracle.cache import write_aside
from gdnbench.values.errors import EnvironmentMissing, UserError

history = typer.Typer(help="Runs that were kept: list, show, export, import, verify.", no_args_is_help=True)

Where = Annotated[
    str | None,
    typer.Option(
        "--history", envvar=VARIABLE, help="The history: a folder, or a URL of fsspec such as s3://bucket/runs."
    ),
]
Change = Annotated[int | None, typer.Option(help="Only runs of this change, e.g. 51913.")]
Kind = Annotated[str | None, typer.Option(help="Only what this measured: step, cost, serve, accuracy, gate, bench.")]
Device = Annotated[
    str | None, typer.Option(help="Only on this: cpu, cuda, traced, or part of a processor's or GPU's name.")
]
Since = Annotated[str | None, typer.Option(help="Only from this date on (2026-11-01), or the last days (14d).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@history.command("list")
def listing(
    where: Where = None,
    change: Change = None,
    kind: Kind = None,
    device: Device = None,
    since: Since = None,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first.

    Example: gdnbench history list --history runs --change 51913 --since 14d
    """
    opened = open_history(where)
    from gdnbench.history.selecting import Selecting
    from gdnbench.report import history as report

    selecting = Selecting(change, kind, device, None if since is None else time_of(since))
    found = opened.listing()
    runs = selecting.of(found.runs)
    if as_json:
        print(report.runs_json(runs, found))
        return
    report.tell_skipped(found)
    report.print_runs(runs, len(found.runs))


@history.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, or a part of it that no other has.")],
    where: Where = None,
    as_json: AsJson = False,
) -> None:
    """Show one run: what tells it from others, and its points.

    Example: gdnbench history show 00000042 --history runs
    """
    opened = open_history(where)
    from gdnbench.report import history as report

    found = opened.listing()
    kept = opened.find(found, run)
    tables = opened.tables([kept], samples=True)
    if tables.skipped:
        raise UserError(str(tables.skipped[0]))
    if as_json:
        print(report.show_json(kept, tables))
    else:
        report.print_run(kept, tables)


@history.command()
def export(
    where: Where = None,
    form: Annotated[str, typer.Option("--format", help="csv, json or parquet.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="Write to this new file. Default: standard output.")] = None,
    change: Change = None,
    kind: Kind = None,
    device: Device = None,
    since: Since = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write every point, with what its run says, for other programs.

    Example: gdnbench history export --history runs --format parquet --out points.parquet
    """
    opened = open_history(where)
    from gdnbench.history.doors import POINTS_AND_RUNS
    from gdnbench.history.exporting import FORMATS, Format, export
    from gdnbench.history.selecting import Selecting
    from gdnbench.report import history as report

    if form not in FORMATS:
        raise UserError(f"--format {form}: there are {', '.join(get_args(Format))}")
    chosen: Format = "json" if as_json or form == "json" else "csv" if form == "csv" else "parquet"
    if out is not None and os.path.lexists(out):
        raise UserError(f"--out {out}: it is there already, and nothing is overwritten")
    if out is None and chosen == "parquet":
        raise UserError("--format parquet: name a file with --out, since it is no text")
    selecting = Selecting(change, kind, device, None if since is None else time_of(since))
    found = opened.listing()
    tables = opened.tables(selecting.of(found.runs))
    report.tell_skipped(found, tables.skipped)
    content = export(tables.query(POINTS_AND_RUNS), chosen)
    if out is None:
        sys.stdout.buffer.write(content)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_aside(out, content)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {out} ({error.strerror or error})") from None


@history.command("import")
def bring(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="asv's results, JSON of vllm bench serve, or folders of lm-eval."),
    ],
    where: Where = None,
    variant: Annotated[
        str | None, typer.Option(help="What was measured, e.g. vllm@0.29.0. Default: what the files say.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep finished results of other tools as runs; what is there already is left alone.

    Example: gdnbench history import .asv/results bench.json --history runs
    """
    opened = open_history(where)
    from gdnbench.history.importing import importable
    from gdnbench.report import history as report

    if variant is not None and not (0 < len(variant) <= 200 and variant.isprintable()):
        raise UserError("--variant: 1 to 200 printable characters are needed")
    found = [one for path in paths for one in importable(path.expanduser(), variant)]
    if not any(one.run for one in found):
        raise UserError(f"nothing to import: {found[0].reason}")
    in_time = sorted((one for one in found if one.run), key=lambda one: one.run.identity.started if one.run else "")
    kept = [(one.path, *opened.record(one.run), "") for one in in_time if one.run]
    report.tell_imported([*kept, *((one.path, "", False, one.reason) for one in found if not one.run)], as_json)


@history.command()
def verify(where: Where = None, as_json: AsJson = False) -> int:
    """Read every file and hold it against its digest; exit code 1 if a run is damaged.

    Example: gdnbench history verify --history runs
    """
    opened = open_history(where)
    from gdnbench.report import history as report

    found, unsound = opened.verify()
    report.tell_verified(found, unsound, as_json)
    return exits.FAILING_VERDICT if any(one.damaged for one in unsound) else exits.DONE
