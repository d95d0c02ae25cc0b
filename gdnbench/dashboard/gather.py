"""Asks a history for everything that a site shows. Points stay columns: nothing here goes through them one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gdn_impl.catalog import CATALOG
from gdnbench.dashboard.data import VERDICTS, Points, SeriesData, SiteData
from gdnbench.dashboard.nights import nights
from gdnbench.history.of_asv import UNIDENTIFIED
from gdnbench.history.pointing import one_line
from gdnbench.history.querying import RUNS, Tables
from gdnbench.history.reading import Listing, Skipped
from gdnbench.values.series import KEY, Series

_OF_SERIES = ", ".join(f"any_value({name}) AS {name}" for name in KEY)
_LAST = ", ".join(f"arg_max({name}, position) AS {name}" for name in ("unit", "direction", "assumption"))

SERIES = (
    f"SELECT series, {_OF_SERIES}, {_LAST}, count(*) AS points FROM points JOIN runs USING (run) "
    "GROUP BY series ORDER BY series"
)
_NUMBERED = f"WITH numbers AS (SELECT run, row_number() OVER () - 1 AS number FROM ({RUNS})) "
_POINTS = "FROM points JOIN numbers USING (run) ORDER BY series, number"
_VERDICT = f"list_position({[verdict.value for verdict in VERDICTS]}, verdict)"
POINTS = (
    f"{_NUMBERED} SELECT number::INT AS run, value, ci_low, ci_high, coalesce(launches, 0)::INT AS launches, "
    f"coalesce({_VERDICT}, 0)::TINYINT AS verdict, coalesce(invalid <> '', false) AS is_invalid {_POINTS}"
)
REASONS = f"{_NUMBERED} SELECT invalid FROM points JOIN numbers USING (run) WHERE invalid <> '' ORDER BY series, number"


NAMELESS = "its commit is not known, or marked as dirty: a local report may show it, a dashboard does not"
_OF_A_CHANGE = re.compile(r"pr(\d{1,9})\.(?:before|after)")


def identified(listing: Listing) -> Listing:
    """The listing without imported runs of which nobody can say what they measured; they count as skipped."""
    nameless = {run.name for run in listing.runs if any(caveat.code == UNIDENTIFIED for caveat in run.warnings)}
    return replace(
        listing,
        runs=tuple(run for run in listing.runs if run.name not in nameless),
        skipped=(*listing.skipped, *(Skipped(str(name), NAMELESS, damaged=False) for name in sorted(nameless))),
    )


def gather(listing: Listing, tables: Tables, made: datetime) -> SiteData:
    """What a site shows of the runs of a listing.

    Args:
        tables: their points.
        made: the time that the site bears.
    """
    by_name = {str(run.name): run for run in listing.runs}
    runs = tuple(by_name[name] for name in tables.query(RUNS)["run"])
    found = tables.query(POINTS)
    points = Points(*(found[name].to_numpy() for name in ("run", "value", "ci_low", "ci_high", "launches", "verdict")))
    invalid = dict(zip(np.flatnonzero(found["is_invalid"]).tolist(), tables.query(REASONS)["invalid"], strict=True))
    series, foreign = _series(tables.query(SERIES), points.run, invalid)
    return SiteData(
        runs=runs,
        nights=nights([run.position for run in runs], [not run.identity.imported for run in runs]),
        series=series,
        points=points,
        skipped=(*listing.skipped, *tables.skipped, *foreign),
        warnings=listing.warnings,
        made=made,
    )


def _series(
    found: Any, run: NDArray[np.int32], invalid: dict[int, str]
) -> tuple[tuple[SeriesData, ...], list[Skipped]]:
    """Every series in order of its key; and those under an id that is not their key's, which are left out.

    Args:
        found: a row for each, in the order of the points.
        run: of each point.
        invalid: reasons by row of the points.
    """
    series, foreign, start = [], [], 0
    spoilt = np.array(sorted(invalid), np.int64)
    for row in found.to_dict("records"):
        key = Series(**{name: row[name] for name in KEY})
        rows = slice(start, start := start + row["points"])
        if key.id != row["series"]:
            foreign.append(Skipped(one_line(row["series"]), "a series whose id is not that of its key"))
            continue
        begin, end = np.searchsorted(spoilt, [rows.start, rows.stop])
        reasons = {int(one) - rows.start: invalid[int(one)] for one in spoilt[begin:end]}
        facts = (row["unit"], row["direction"], row["assumption"])
        series.append(SeriesData(key.id, key, *facts, change_of(key), rows, int(run[rows.stop - 1]), reasons))
    return tuple(sorted(series, key=lambda one: one.series)), foreign


def change_of(series: Series) -> int | None:
    """The catalogued change whose builders a series is of."""
    numbers = [int(found[1]) for text in (series.variant, series.against) if (found := _OF_A_CHANGE.match(text))]
    return next((number for number in numbers if number in CATALOG), None)
