"""The plan of a server campaign: what is compared, in which server, under which load. It is a file, to be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gdnbench.campaign.turns import BEFORE
from gdnbench.values.errors import UserError
from gdnbench.values.variants import Variant, parse

SCHEMA = 1

Method = Literal["switch", "apart"]


@dataclass(frozen=True, slots=True)
class ServerSetting:
    """A server, but for its release, port and key.

    Attributes:
        preset: the name of the setting it comes from.
        model: what vLLM is told to serve: a directory or a name.
        tokenizer: a directory with `tokenizer.json`, for choosing prompts.
        flags: further arguments of vLLM's server.
        settings: environment variables.
        speculative: vLLM's speculative configuration, None without speculation.
        device: `cpu` or `cuda`.
    """

    preset: str
    model: str
    tokenizer: str
    flags: tuple[str, ...]
    settings: Mapping[str, str]
    speculative: Mapping[str, Any] | None
    device: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ServerSetting:
        return cls(**{**data, "flags": tuple(data["flags"])})


@dataclass(frozen=True, slots=True)
class Load:
    """The load at one concurrency.

    Attributes:
        concurrency: requests in flight at most.
        requests: of one block.
        rounds: blocks of each side in a launch.
    """

    concurrency: int
    requests: int
    rounds: int


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """Which prompts to send.

    Attributes:
        dataset: path of a ShareGPT file; None for our generator, `sharegpt-like`.
        seed: of the choice.
        prompts: how many distinct ones to ask for.
        output_len: tokens to generate for each; the end of sequence is ignored.
        max_prompt, max_total: limits of length in tokens; vLLM's are 1,024 and 2,048.
    """

    dataset: str | None
    seed: int
    prompts: int
    output_len: int
    max_prompt: int = 1024
    max_total: int = 2048


class Compared:
    """What plans of comparisons in live servers share: sides that are spelled, in one server setting."""

    __slots__ = ()

    sides: Mapping[str, str]
    server: ServerSetting

    @property
    def variants(self) -> dict[str, Variant]:
        """The sides, read."""
        return {role: parse(text) for role, text in self.sides.items()}

    @property
    def change(self) -> int | None:
        """The change that both sides belong to, if they do."""
        changes = {variant.change for variant in self.variants.values()}
        return changes.pop() if len(changes) == 1 else None


@dataclass(frozen=True, slots=True)
class ServePlan(Compared):
    """One comparison in live servers.

    Attributes:
        sides: the variant of each role; every ratio is taken to the role `before`.
        method: `switch` (all sides take turns in one server) or `apart` (a fresh server for each).
        releases: the vLLM of each role's server; one and the same under `switch`.
        load_release: the vLLM whose benchmark code is the load generator, the same for all sides.
        server: the setting.
        loads: one for each concurrency.
        workload: the prompts.
        launches: fresh servers by `switch`, pairs of fresh servers by `apart`.
        server_cores, load_cores: what the engine, and the load generator with the rest of the server, are bound to;
            None to leave that to the system.
        observation: the question is what observing costs: the one side is observed in every third step alone.
    """

    sides: Mapping[str, str]
    method: Method
    releases: Mapping[str, str]
    load_release: str
    server: ServerSetting
    loads: tuple[Load, ...]
    workload: WorkloadRequest
    launches: int
    server_cores: tuple[int, ...] | None = None
    load_cores: tuple[int, ...] | None = None
    observation: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ServePlan:
        """The plan that `to_json` wrote.

        Raises:
            UserError: written by another version, or damaged.
        """
        values = dict(data)
        if values.pop("schema", None) != SCHEMA:
            raise UserError(f"the plan's schema is not {SCHEMA}: it is no server campaign of this version of gdnbench")
        try:
            values["server"] = ServerSetting.from_json(values["server"])
            values["loads"] = tuple(Load(**one) for one in values["loads"])
            values["workload"] = WorkloadRequest(**values["workload"])
            for name in ("server_cores", "load_cores"):
                values[name] = None if values[name] is None else tuple(values[name])
            plan = cls(**values)
        except (KeyError, TypeError, AttributeError):
            raise UserError("the plan is damaged: keys are missing or unknown") from None
        if BEFORE not in plan.sides:
            raise UserError("the plan is damaged: it has no side `before`")
        return plan
