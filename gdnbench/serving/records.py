"""What a launch of a server campaign found, as values and as the JSON of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gdnbench.campaign.machine import Hardware
from gdnbench.values.coverage import Builds

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of the drafts in a block."""

    drafts: int
    """Steps of requests that had drafts."""
    draft_tokens: int
    accepted: int

    @property
    def length(self) -> float:
        """Tokens per step: one, and the drafts accepted."""
        return 1 + self.accepted / self.drafts if self.drafts else 1.0


@dataclass(frozen=True, slots=True)
class Block:
    """A short run of requests of one side, as vLLM's own benchmark measured it.

    Attributes:
        role: of the side.
        concurrency: requests in flight at most.
        round: from 0; every role runs the same requests in a round.
        started: seconds since the launch began.
        duration_s: from the first request sent to the last token received.
        sent, completed, failed: requests.
        empty: requests that succeeded with no token.
        input_tokens, output_tokens: of completed requests.
        figures: by vLLM's names (`output_throughput`, `total_token_throughput`, `request_throughput`, `mean_ttft_ms`,
            `median_tpot_ms`, `p99_itl_ms`, `mean_e2el_ms`, ...); None where there was no sample.
        samples: how many samples each of `ttft`, `tpot`, `itl`, `e2el` has.
        acceptance: None without speculation.
        prompts, texts: digests of what was sent and what came back.
        builds: by role, the builds that the plugin stamped with this block; None in a server without plugin.
        mixed_steps: steps in which the side changed; anything but 0 makes the launch invalid.
        pace_ns: what the fixed loop at the begin of each step took, mean; None in a server without plugin.
        phases: where observation takes turns from step to step: of every place among three its steps without a prefill,
            and the sum of the logarithms of their nanoseconds; builds are observed in the first.
    """

    role: str
    concurrency: int
    round: int
    started: float
    duration_s: float
    sent: int
    completed: int
    failed: int
    empty: int
    input_tokens: int
    output_tokens: int
    figures: Mapping[str, float | None]
    samples: Mapping[str, int]
    acceptance: Acceptance | None
    prompts: str
    texts: str
    builds: Mapping[str, int] | None = None
    mixed_steps: int = 0
    pace_ns: float | None = None
    phases: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Pooled:
    """A side's samples of one metric from all blocks of one concurrency together: for percentiles.

    Attributes:
        metric: `ttft`, `tpot`, `itl` or `e2el`.
        samples: how many.
        p99_ms, max_ms: milliseconds.
        quantiles_ms: percentiles 0 to 100; empty in recordings of older versions.
    """

    role: str
    concurrency: int
    metric: str
    samples: int
    p99_ms: float
    max_ms: float
    quantiles_ms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveEquality:
    """Both sides built for the same live steps, in a pass of their own, and were compared field by field.

    Attributes:
        builds: compared.
        different: those in which a field differed.
        fields: names of fields that ever differed.
    """

    builds: int
    different: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One server that ran in a launch.

    Attributes:
        role: whose side it ran; None if all took turns in it.
        release: of vLLM.
        command: its arguments; keys and ports left out.
        settings: environment variables that steer it.
        runner: `V1` or `V2`.
        graphs: the graph mode, `NONE` if eager.
        groups: KV groups with a GDN builder.
        prefix_caching: whether it was on.
        start_s: seconds from start to ready.
        cores: those it was bound to, None if unbound.
        builds_per_step: with the plugin, builds divided by steps that built; None without.
        unpatched_builds_per_step: the same of the server's own builders, before a side was switched in.
        notes: lines of its log that bear on validity, such as compilation inside the measured window.
    """

    role: str | None
    release: str
    command: tuple[str, ...]
    settings: Mapping[str, str]
    runner: str
    graphs: str
    groups: int
    prefix_caching: bool
    start_s: float
    cores: tuple[int, ...] | None
    builds_per_step: float | None = None
    unpatched_builds_per_step: float | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ServerFacts:
        tuples = {"command": tuple(data["command"]), "notes": tuple(data["notes"]), "cores": _cores(data)}
        return cls(**{**data, **tuples})


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """The load generator of a launch.

    Attributes:
        release: of vLLM, whose `vllm bench serve` code it is.
        cores: those it was bound to, None if unbound.
        sampling: what was sent with every request, e.g. temperature 0.
        output_len: tokens asked for.
        ignore_eos: whether an end of sequence was ignored.
    """

    release: str
    cores: tuple[int, ...] | None
    sampling: Mapping[str, Any]
    output_len: int
    ignore_eos: bool


@dataclass(frozen=True, slots=True)
class ServeLaunch:
    """One launch: by `switch` one fresh server in which all roles took turns; by `apart` one fresh server for each.

    Attributes:
        number: from 1.
        started: when, UTC.
        seconds: how long it took, starts of servers included.
        order: the roles in the order in which they took their first turn.
        seed: of this launch, for the order of its requests.
        servers: one, or one for each role.
        load: the load generator.
        workload: identity of the requests: name, sha256, tokenizer, limits, counts.
        blocks: in the order in which they ran; warm-up passes are not among them.
        pooled: for percentiles.
        coverage: by role.
        equality: of both sides in live steps; None where it could not be or need not be compared.
        environment: the machine and its libraries.
    """

    number: int
    started: str
    seconds: float
    order: tuple[str, ...]
    seed: int
    servers: tuple[ServerFacts, ...]
    load: LoadFacts
    workload: Mapping[str, Any]
    blocks: tuple[Block, ...]
    pooled: tuple[Pooled, ...]
    coverage: Mapping[str, tuple[Builds, ...]]
    equality: LiveEquality | None
    environment: Mapping[str, Any]

    @property
    def hardware(self) -> Hardware:
        """Of the machine on which its servers ran."""
        return Hardware.of(self.environment)

    def to_json(self) -> dict[str, Any]:
        coverage = {role: [one.to_json() for one in builds] for role, builds in self.coverage.items()}
        return {"schema": SCHEMA, **asdict(self), "coverage": coverage}

    @classmethod
    def from_json(cls, data: Any) -> ServeLaunch:
        """What `to_json` gave.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"no launch of schema {SCHEMA}")
        values = {key: value for key, value in data.items() if key != "schema"}
        try:
            values["order"] = tuple(data["order"])
            values["servers"] = tuple(ServerFacts.from_json(one) for one in data["servers"])
            values["load"] = LoadFacts(**{**data["load"], "cores": _cores(data["load"])})
            values["blocks"] = tuple(_block(one) for one in data["blocks"])
            values["pooled"] = tuple(
                Pooled(**{**one, "quantiles_ms": tuple(one.get("quantiles_ms", ()))}) for one in data["pooled"]
            )
            values["coverage"] = {
                role: tuple(Builds.from_json(one) for one in builds) for role, builds in data["coverage"].items()
            }
            if data["equality"] is not None:
                values["equality"] = LiveEquality(
                    **{**data["equality"], "fields": tuple(data["equality"]["fields"])},
                )
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{type(error).__name__} at {error}") from None


def _block(data: Mapping[str, Any]) -> Block:
    acceptance = None if data["acceptance"] is None else Acceptance(**data["acceptance"])
    phases = tuple((steps, log_ns) for steps, log_ns in data.get("phases", ()))
    return Block(**{**data, "acceptance": acceptance, "phases": phases})


def _cores(data: Mapping[str, Any]) -> tuple[int, ...] | None:
    return None if data["cores"] is None else tuple(data["cores"])
