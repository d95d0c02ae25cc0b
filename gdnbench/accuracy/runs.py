"""One finished run of lm-eval on one side, as a value and as the JSON of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gdnbench.campaign.machine import Hardware
from gdnbench.serving.records import ServerFacts
from gdnbench.values.coverage import Builds

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class AccuracyRun:
    """One server, and lm-eval's questions to it.

    Attributes:
        number: from 1.
        role: whose side it ran.
        started: when, UTC.
        seconds: how long it took, the server's start included.
        server: what ran.
        coverage: which steps the side's builders met.
        folder: lm-eval's output, below the campaign's directory.
        witness: `checks`, `losses` and the `first` loss of a state: see `gdnbench.plugin.witness`; None where nobody
            looked.
        environment: the machine and its libraries.
    """

    number: int
    role: str
    started: str
    seconds: float
    server: ServerFacts
    coverage: tuple[Builds, ...]
    folder: str
    witness: Mapping[str, Any] | None
    environment: Mapping[str, Any]

    @property
    def hardware(self) -> Hardware:
        """Of the machine on which its server ran."""
        return Hardware.of(self.environment)

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self), "coverage": [one.to_json() for one in self.coverage]}

    @classmethod
    def from_json(cls, data: Any) -> AccuracyRun:
        """What `to_json` gave.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"no run of schema {SCHEMA}")
        values = {key: value for key, value in data.items() if key != "schema"}
        try:
            values["server"] = ServerFacts.from_json(data["server"])
            values["coverage"] = tuple(Builds.from_json(one) for one in data["coverage"])
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{type(error).__name__} at {error}") from None
