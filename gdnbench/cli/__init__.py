"""The command line. One thin file per command; what is heavy is imported when a command runs."""

from __future__ import annotations

import sys

import typer

from gdnbench.cli import exits
from gdnbench.cli.accuracy import accuracy
from gdnbench.cli.calibrate import calibrate
from gdnbench.cli.check import check
from gdnbench.cli.conform import conform
from gdnbench.cli.cost import cost
from gdnbench.cli.dashboard import dashboard
from gdnbench.cli.data import data
from gdnbench.cli.doctor import doctor
from gdnbench.cli.evidence import evidence
from gdnbench.cli.faults import faults
from gdnbench.cli.gate import gate
from gdnbench.cli.history import history
from gdnbench.cli.listing import listing
from gdnbench.cli.new_change import new_change
from gdnbench.cli.nightly import nightly
from gdnbench.cli.releases import releases
from gdnbench.cli.serve import serve
from gdnbench.cli.shifts import shifts
from gdnbench.cli.step import step

app = typer.Typer(
    name="gdnbench",
    help="Benchmarks of the step metadata of vLLM's Gated DeltaNet attention.",
    epilog="Exit codes: " + exits.TABLE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def gdnbench() -> None:
    """Benchmarks of the step metadata of vLLM's Gated DeltaNet attention."""


app.command("list")(listing)
app.command()(cost)
app.command()(step)
app.command()(serve)
app.command()(accuracy)
app.command()(faults)
app.command()(calibrate)
app.command()(evidence)
app.command()(gate)
app.command()(dashboard)
app.command()(check)
app.command()(conform)
app.command()(nightly)
app.command()(releases)
app.command()(doctor)
app.command("new-change")(new_change)
app.add_typer(data, name="data")
app.add_typer(history, name="history")
app.add_typer(shifts, name="shifts")


def main() -> None:
    """The entry point `gdnbench`."""
    sys.exit(exits.run(app))
