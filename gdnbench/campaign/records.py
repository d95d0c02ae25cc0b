"""What a launch found, as values and as the JSON of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gdnbench.campaign.machine import Hardware

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """One scenario and metric in one launch.

    Attributes:
        scenario, metric: their names.
        steps: how many steps of each block counted.
        medians_us: for each role the median over its blocks, in microseconds.
        log_ratios: for each role but `before` the median over rounds of ln(its block / that of the role that it is
            held against).
        blocks_us: for each role the median of each block, round by round.
    """

    scenario: str
    metric: str
    steps: int
    medians_us: Mapping[str, float]
    log_ratios: Mapping[str, float]
    blocks_us: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One launch.

    Attributes:
        number: from 1.
        started: when, UTC.
        seconds: how long it took, from the start of its process to its end.
        created: the roles in the order in which they were created and took their first turn.
        environment: where the sides ran, by role; sides in one process share the entry of the first.
        refused: scenarios that the part cannot meet, each with the reason.
        unequal: for each scenario and role the fields in which its metadata differs from that of the role it is held
            against.
        measured: the figures.
    """

    number: int
    started: str
    seconds: float
    created: tuple[str, ...]
    environment: Mapping[str, Mapping[str, Any]]
    refused: Mapping[str, str]
    unequal: Mapping[str, Mapping[str, tuple[str, ...]]]
    measured: tuple[Measured, ...]

    @property
    def hardware(self) -> Hardware:
        """Of the machine on which all its sides ran."""
        return Hardware.of(next(iter(self.environment.values()), {}))

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, data: Any) -> LaunchRecord:
        """What `to_json` gave.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"no launch of schema {SCHEMA}")
        try:
            measured = tuple(
                Measured(
                    **{**one, "blocks_us": {role: tuple(us) for role, us in one["blocks_us"].items()}},
                )
                for one in data["measured"]
            )
            unequal = {
                scenario: {role: tuple(fields) for role, fields in roles.items()}
                for scenario, roles in data["unequal"].items()
            }
            values = {key: value for key, value in data.items() if key != "schema"}
            return cls(
                **{**values, "created": tuple(data["created"]), "unequal": unequal, "measured": measured},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{type(error).__name__} at {error}") from None
