"""`gdnbench data`: the data sets, brought here, checked, looked at, and made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.values.errors import EnvironmentMissing, UserError

MB = 1_000_000
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets. Default: all that are here.")]

data = typer.Typer(help="Data sets: list, fetch, verify, inspect, make.", no_args_is_help=True)


@data.command("list")
def listing(as_json: AsJson = False) -> None:
    """Show every data set: source, licence, size, and whether it is here.

    Example: gdnbench data list
    """
    from gdnbench.cli.data_table import print_manifests
    from gdnbench.workloads.manifests import manifests

    if as_json:
        print(json.dumps({"datasets": [one.to_json() for one in manifests()]}))
    else:
        print_manifests(manifests())


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set, e.g. gsm8k.")],
    mirror: Annotated[str | None, typer.Option(help="A URL beneath which the same files lie.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bring a data set here, into the cache: goes on where it stopped, checks size and sha256.

    Example: gdnbench data fetch sharegpt
    """
    from gdnbench.workloads.fetch import fetch as bring
    from gdnbench.workloads.manifests import manifest

    paths = []
    for file in manifest(name).files:
        with _megabytes(f"{name} {file.name}", file.bytes) as done:
            paths.append(str(bring(file, mirror, done)))
    print(json.dumps({"name": name, "paths": paths}) if as_json else "\n".join(paths))


@data.command()
def verify(names: Names = None, as_json: AsJson = False) -> int:
    """Hold the files that are here against the sizes and checksums of their manifests.

    Example: gdnbench data verify sharegpt
    """
    from gdnbench.workloads.manifests import DataFile, manifest, manifests

    found: list[tuple[str, DataFile, str]] = []
    for one in [manifest(name) for name in dict.fromkeys(names or ())] or manifests():
        for file in one.files:
            with _megabytes(f"{one.name} {file.name}", file.bytes) as done:
                found.append((one.name, file, file.state(done)))
    if not names:
        found = [row for row in found if row[2] != "absent"]
    if as_json:
        rows = [
            {"dataset": name, "file": file.name, "path": str(file.path), "state": state} for name, file, state in found
        ]
        print(json.dumps({"files": rows}))
    else:
        print("\n".join(f"{name} {file.name}: {state}" for name, file, state in found))
    damaged = [row for row in found if row[2] not in ("good", "absent")]
    wrong = damaged + [row for row in found if row[2] == "absent"]
    if wrong and not as_json:
        name, file, state = wrong[0]
        advice = f"gdnbench data fetch {name}" if file.url else "get it back with git checkout"
        others = f", and {len(wrong) - 1} more" if wrong[1:] else ""
        raise (UserError if damaged else EnvironmentMissing)(f"{file.path}: {state}{others}: {advice}")
    return UserError.exit_code if damaged else EnvironmentMissing.exit_code if wrong else exits.DONE


@data.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file that is meant to be data.")],
    tokenizer: Annotated[
        Path | None, typer.Option(help="Directory with a tokenizer.json: count what vLLM's limits leave of ShareGPT.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what a file is, in one line; exit code 2 where it is broken or no data.

    Example: gdnbench data inspect ShareGPT_V3_unfiltered_cleaned_split.json --tokenizer datasets/tiny-gdn
    """
    from gdnbench.cli.data_table import print_counts
    from gdnbench.workloads.inspection import inspect as look
    from gdnbench.workloads.stream import DamagedFile
    from gdnbench.workloads.tokens import Tokens

    tokens = None if tokenizer is None else Tokens(tokenizer)
    try:
        with _megabytes("reading", file.stat().st_size if file.is_file() else 0) as done:
            found = look(file, tokens, done)
    except DamagedFile as damaged:
        if not as_json:
            raise
        print(json.dumps(damaged.to_json()))
        return UserError.exit_code
    if as_json:
        print(json.dumps(found.to_json()))
    else:
        print(found)
        print_counts(found)
    return exits.DONE


@data.command()
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to make: sharegpt-like.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    tokenizer: Annotated[Path, typer.Option(help="Directory with the tokenizer.json that lengths are counted with.")],
    conversations: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many.")] = 10_000,
    seed: Annotated[int, typer.Option(help="One seed gives the same bytes.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write conversations of ours, as long as ShareGPT's, in ShareGPT's format.

    Example: gdnbench data make sharegpt-like --out conversations.json --tokenizer datasets/tiny-gdn
    """
    from gdnbench.campaign.progress import progress
    from gdnbench.workloads import generator
    from gdnbench.workloads.inspection import inspect as look
    from gdnbench.workloads.tokens import Tokens

    if name != generator.NAME:
        raise UserError(f"{name} cannot be made: there is {generator.NAME}")
    pool = generator.SharegptLike(Tokens(tokenizer).count, seed, conversations)
    with progress("conversations", conversations) as done:
        pool.write(out, done)
    written = look(out)
    print(json.dumps(written.to_json()) if as_json else written)


@contextmanager
def _megabytes(what: str, size: int) -> Iterator[Callable[[int], None]]:
    """A progress bar for bytes."""
    from gdnbench.campaign.progress import progress

    with progress(f"{what}, MB", max(1, size // MB)) as done:
        yield lambda read: done(read // MB)
