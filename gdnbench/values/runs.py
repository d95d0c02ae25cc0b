"""Runs: what one measurement found, and everything that tells it from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from gdnbench.values.series import Point
from gdnbench.values.verdicts import Caveat, Json, Verdict

RunKind = Literal["step", "cost", "serve", "accuracy", "gate", "bench"]
"""What measured: a command of ours, or, for imported figures, the like of it; `bench` is any other benchmark."""

LONGEST_TEXT = 5000
MOST_ITEMS = 1000


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a run measured.

    Attributes:
        host: twelve digits of a keyed digest, which do not give the machine's name away; or the name that its owner
            chose to show.
        device: `cpu`, `cuda`, or `traced` where nothing was timed; empty where that is not known.
        processor, gpu: their names; empty where there is none, or none is known.
        cores: of the processor; 0 where that is not known.
        system: the operating system.
        libraries: versions by name: torch, numpy, python, vllm.
    """

    host: str
    device: str
    processor: str = ""
    gpu: str = ""
    cores: int = 0
    system: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)

    @property
    def hardware(self) -> str:
        """The name of what the device is."""
        return {"cuda": self.gpu, "traced": ""}.get(self.device, self.processor)


@dataclass(frozen=True, slots=True)
class Source:
    """Which code of ours measured.

    Attributes:
        commit: of the checkout, empty outside of one.
        changed: whether files differed from it.
        builders, harness: digests of the reference builders, and of the code that counts.
    """

    commit: str = ""
    changed: bool = False
    builders: str = ""
    harness: str = ""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Everything that tells a run from others.

    Attributes:
        kind: what measured.
        started: when, UTC, in ISO's format.
        machine: where.
        source: by which code of ours; of an imported run, by which code at all: its commit.
        imported: whose format it came in; empty for runs of our own.
        change: that the variants belong to, if they belong to one.
        variants: by role.
        loads: scenarios, concurrencies or tasks.
        part: of the change; empty for all.
        model: that was served; empty where none was.
        flags: of the server.
        settings: whatever else must be the same for figures to be compared, by name.
        seeds: by what they are the seeds of.
    """

    kind: RunKind
    started: str
    machine: Machine
    source: Source
    imported: str = ""
    change: int | None = None
    variants: Mapping[str, str] = field(default_factory=dict)
    loads: tuple[str, ...] = ()
    part: str = ""
    model: str = ""
    flags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)

    @property
    def when(self) -> datetime:
        """`started` as a time."""
        return moment(self.started)

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> RunIdentity:
        """What `to_json` gave.

        Raises:
            ValueError: it is something else; the message names the key.
        """
        values = _only(cls, data, "identity")
        machine, source = _only(Machine, values["machine"], "machine"), _only(Source, values["source"], "source")
        if values["kind"] not in get_args(RunKind):
            raise ValueError("identity.kind is unknown")
        if values["change"] is not None and not _is_whole(values["change"]):
            raise ValueError("identity.change is no number")
        if not _is_whole(machine["cores"]) or not isinstance(source["changed"], bool):
            raise ValueError("machine.cores or source.changed is of another type")
        moment(_text(values["started"], "started"))
        for name in ("imported", "part", "model"):
            _text(values[name], name)
        for name, value in {**machine, **source}.items():
            if name not in ("cores", "changed", "libraries"):
                _text(value, name)
        return cls(
            **{
                **values,
                "machine": Machine(**{**machine, "libraries": _texts(machine["libraries"], "libraries")}),
                "source": Source(**source),
                "variants": _texts(values["variants"], "variants"),
                "loads": _list(values["loads"], "loads"),
                "flags": _list(values["flags"], "flags"),
                "settings": _mapping(values["settings"], "settings"),
                "seeds": _mapping(values["seeds"], "seeds"),
            }
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A measurement to be kept.

    Attributes:
        identity: what tells it from others.
        points: one for each series at most.
        token: what no other measurement has, and the same one has whenever it is kept: the directory of its campaign,
            the digest of the file that it was read from. Keeping it again changes nothing.
        verdict: of the whole; None where nothing was compared.
        warnings: what a reader must know.
    """

    identity: RunIdentity
    points: tuple[Point, ...]
    token: str
    verdict: Verdict | None = None
    warnings: tuple[Caveat, ...] = ()


def moment(text: str) -> datetime:
    """A time in ISO's format, in UTC; one without a zone is taken as UTC.

    Raises:
        ValueError: it is none.
    """
    found = datetime.fromisoformat(text)
    return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)


def _only(of: type, data: Any, name: str) -> dict[str, Any]:
    """The fields of a class in an object from a file; what a later version added is left out."""
    names = [one.name for one in fields(of)]
    if not isinstance(data, dict) or not set(names) <= data.keys():
        raise ValueError(f"{name} lacks a key")
    return {key: data[key] for key in names}


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not value.isprintable():
        raise ValueError(f"{name} is no plain text")
    return value


def _list(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise ValueError(f"{name} is no list")
    return tuple(_text(one, name) for one in value)


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MOST_ITEMS:
        raise ValueError(f"{name} is no object")
    return {_text(key, name): one for key, one in value.items()}


def _texts(value: Any, name: str) -> dict[str, str]:
    return {key: _text(one, name) for key, one in _mapping(value, name).items()}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
