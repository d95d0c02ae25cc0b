"""The catalogued changes: what each did, what its author claimed, where it can be judged and what stands beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum


class Level(StrEnum):
    """Where a change can be judged."""

    EQUALITY = "equality"
    COST = "exact cost"
    STEP_TIME = "step time"
    SERVER = "live server"
    ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True)
class Claim:
    """What an author stated.

    Attributes:
        text: the statement, in our words.
        metric: what it speaks of.
        before, after: the published figures, None where only a difference was given.
        unit: of both.
        concurrency: requests in flight, None where it does not apply.
        setting: on what, and with what.
    """

    text: str
    metric: str
    unit: str
    before: float | None = None
    after: float | None = None
    concurrency: int | None = None
    setting: str = ""


@dataclass(frozen=True, slots=True)
class LivePath:
    """The steps of a live server that run what a change touched.

    Attributes:
        steps: in words.
        kinds: the same by the names of `gdnbench.values.coverage`.
        speculation: whether only a server that speculates has them.
    """

    steps: str
    kinds: tuple[str, ...]
    speculation: bool = False


ANY_STEP = LivePath("any step", ("decode", "prefill", "mixed", "speculative"))


@dataclass(frozen=True, slots=True)
class Change:
    """One pull request of vllm-project/vllm.

    Attributes:
        number, title, merged: the pull request; the title is in our words.
        what: what was before and what is after.
        releases: the last release without it and the first with it, which bracket it.
        foreign: what else differs between those two releases in the code concerned.
        scenarios: batch specs of the named scenarios that exercise it, the primary one first.
        promises_equal: whether before and after must give the same metadata.
        not_judged_at: the levels that do not apply, each with the reason.
        claims: what was published.
        live: the steps of a server that run the changed code; of no meaning where a server cannot judge it.
    """

    number: int
    title: str
    merged: date
    what: str
    releases: tuple[str, str]
    scenarios: tuple[str, ...]
    promises_equal: bool
    foreign: tuple[str, ...] = ()
    not_judged_at: dict[Level, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    live: LivePath = ANY_STEP

    @property
    def primary(self) -> str:
        """The scenario that a question about this change means, if it names none."""
        return self.scenarios[0]

    @property
    def url(self) -> str:
        """Where the pull request is."""
        return f"https://github.com/vllm-project/vllm/pull/{self.number}"

    def judged_at(self, level: Level) -> bool:
        """Whether the change can be judged at a level."""
        return level not in self.not_judged_at


H200 = "one H200, Qwen3.6-35B-A3B with the DFlash drafter, 8 drafts, ShareGPT, 300 output tokens, one run a side"

_NEEDS_A_READER = "in a GDN server on a CPU nothing reads the bound; it needs a GPU and a model that does"
_NEEDS_GRAPHS = "capture does not happen in an eager server, and on a CPU there is no other"

_DECODES = ("16q1s1k", "q1s1k", "16q1s1k/eager", "13q1s1k_3pad", "16q1s1k/g30")
_SPECULATIVE = ("16q9s1kd8", "q9s1kd8", "16q9s1kd8/eager", "13q9s1kd8_3pad", "16q9s1kd8/v2")
_DRAFT_EDGES = ("8q9s1kd8_4q5s1kd4_4q1s1kd0", "8q9s1kd8_6q1s1k_2q128", "16q1s1kd0/spec8")
_CAPTURES = ("16q1s1k/capture", "16q9s1k/spec8/capture")
_LENGTHS = ("12q9s1kd8_2q200s1k_2q128/async", "14q1s1k_2q300s1k/v2", "16q9s1kd8/v2", "4q512s2k", "15q1s1k_q2k")

CATALOG: dict[int, Change] = {
    change.number: change
    for change in (
        Change(
            number=40654,
            title="An upper bound of the sequence lengths on the host",
            merged=date(2026, 4, 22),
            what="Consumers read sequence lengths back from the device, which under asynchronous speculation waits for "
            "it. The runner now keeps computed plus scheduled tokens on the host, every draft taken as accepted: "
            "never below the truth, exact for rows that prefill and without asynchronous speculation.",
            releases=("0.19.1", "0.20.0"),
            foreign=(
                "the MLA indexer is rewritten around one fused kernel",
                "MLA counts, on the host, the tokens of prefills that have context",
                "padded rows point at block 0, no longer at -1",
                "the tokens' positions are handed on with the batch",
            ),
            scenarios=_LENGTHS,
            promises_equal=True,
            not_judged_at={
                Level.SERVER: _NEEDS_A_READER,
                Level.ACCURACY: _NEEDS_A_READER,
            },
        ),
        Change(
            number=41873,
            title="Padded rows lose their stale prefilling flag",
            merged=date(2026, 5, 21),
            what="Compacting the batch leaves old counts in vacated slots, and padding to a captured size slices them: "
            "a padded row could pass for a prefill, and Mamba's split then left the decode buffers unrefreshed, so "
            "that a graph replay read another request's state (issue 41841). The flag is now cleared from the first "
            "padded row on.",
            releases=("0.21.0", "0.22.0"),
            foreign=(
                "Mamba makes a resumed chunk of one token a decode, and looks for such rows in every build",
                "prefix caching learns to speculate",
            ),
            scenarios=("13q1s1k_3pad", "13q9s1kd8_3pad", "16q1s1k"),
            promises_equal=False,
            not_judged_at={
                Level.STEP_TIME: "one comparison and one fill on the host; it is a correctness fix",
                Level.SERVER: "the victim is Mamba's split under captured graphs; a GDN server's metadata is the same "
                "with clean and stale flags",
                Level.ACCURACY: "the victim is Mamba's split under captured graphs; the fault table stands in",
            },
        ),
        Change(
            number=51913,
            title="Computed-token lengths only where a prefill reads them",
            merged=date(2026, 8, 12),
            what="Every build derived, on the device, how many tokens each row had already computed; only the prefill "
            "branch reads it. The call now stands in that branch, and a decode step no longer pays for it.",
            releases=("0.27.0", "0.28.0"),
            foreign=("the zero before the chunk offsets is asked for instead of being made of a list",),
            scenarios=_DECODES + _SPECULATIVE,
            promises_equal=True,
            live=LivePath("steps without a prefill", ("decode", "speculative")),
            claims=(
                Claim("54 us saved per build on decode, profiled", "step_time", "us", setting=H200),
                Claim("+7 % output throughput", "output_throughput", "tok/s", 184.07, 197.50, 1, H200),
                Claim("+0.4 % output throughput", "output_throughput", "tok/s", 1381.58, 1386.45, 16, H200),
                Claim("gsm8k unchanged", "gsm8k exact match", "", 0.3472, 0.3533, None, H200),
            ),
        ),
        Change(
            number=52078,
            title="The draft mask once, its negation once",
            merged=date(2026, 8, 20),
            what="The mask of speculative rows was compared for twice and its negation formed at each of five uses. "
            "It is now compared for once, counted before anything is gathered, and its negation kept for four of the "
            "uses. All of it is work on host tensors.",
            releases=("0.28.0", "0.29.0"),
            scenarios=_SPECULATIVE + _DRAFT_EDGES,
            promises_equal=True,
            live=LivePath("steps with drafts", ("speculative", "mixed"), speculation=True),
            claims=(Claim("about +1 % throughput under concurrency", "output_throughput", "tok/s", setting=H200),),
        ),
        Change(
            number=55404,
            title="Capture metadata without a copy from the device",
            merged=date(2026, 9, 4),
            what="For graph capture the drafts per row were derived on the device and copied back. They now come from "
            "the host's copy of the offsets, and the shapes are asserted to be equal.",
            releases=("0.29.0", "0.30.0"),
            scenarios=_CAPTURES,
            promises_equal=True,
            foreign=(
                "the constructor calls its base class (a pure move)",
                "host values are staged through a pinned copy instead of being pinned themselves",
            ),
            not_judged_at={
                Level.SERVER: _NEEDS_GRAPHS,
                Level.ACCURACY: _NEEDS_GRAPHS,
            },
        ),
        Change(
            number=51565,
            title="A first chunk of one token is a prefill",
            merged=date(2026, 9, 22),
            what="One token meant decode, and decode kernels read recurrent state without asking whether there is any: "
            "a new request with a first chunk of one token went on from its predecessor's state. A row without prior "
            "state that still prefills is now a prefill. Correctness; its cost on the plain decode path is the point.",
            releases=("0.30.0", "0.31.0"),
            scenarios=(
                "16q1s1k",
                "15q1s1k_q1s1p64",
                "q1s1k",
                "13q1s1k_3pad",
                "15q1s1k_q2k",
                "16q1s1k/g30",
                "16q9s1kd8",
            ),
            promises_equal=False,
            foreign=(
                "uniform speculative length, found on the host in every speculative step",
                "a host copy of the draft mask in the metadata",
                "block-table updates in place of builds for further groups (runner V2 on CUDA)",
                "aligned state indices, where the cache mode asks for them",
                "the split leaves rows of length 0 out where it requires uniform decodes",
            ),
        ),
    )
}
