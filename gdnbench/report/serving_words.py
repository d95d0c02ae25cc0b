"""A server campaign in sentences: the headline, where throughput comes from, what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.report.numbers import Interval, interval, percent, share
from gdnbench.values.coverage import Builds
from gdnbench.values.serving import Coverage, Fault, ServeIdentity, ServeResult, ServeRow
from gdnbench.values.verdicts import Caveat, Verdict

SPLIT = (
    "tok/s = acceptance / step time x rest; a builder change may claim the step time alone. Builds alone: what tok/s "
    "would do if nothing but the observed time of builds changed; added up, not measured"
)

CHANGE = (
    "before, after: of all requests together; change: median over launches of ratios of turns taken together, so not "
    "quite after / before"
)
DEFINITIONS = (
    "TTFT: from request to first token. TPOT: of each request, the rest of its time by its further tokens. ITL: "
    "between any two streamed chunks, of all requests together; neither is the other, nor one over tok/s. "
    "E2EL: a whole request"
)

METHODS = {
    "switch": "both sides, and the before side again, take turns in one server, block by block",
    "apart": "each side has a fresh server of its own, in an order that swaps from launch to launch",
}

ADVICE: Mapping[str, str] = {
    "missing_blocks": "go on with --resume, or begin a new campaign",
    "failed": "read the log of the launch, and give the server what it lacked",
    "incomplete": "read the log of the launch: requests were lost",
    "empty": "read the log of the launch: the server ended answers without a token",
    "output_tokens": "see that the end of sequence is ignored and that answers fit into the model's length",
    "prompts": "begin a new campaign: one dataset, tokenizer and seed for both sides",
    "tokens": "begin a new campaign: one dataset, tokenizer and seed for both sides",
    "no_samples": "see that answers stream, and have more than one token",
    "impossible": "measure again: clocks or counters of the load generator disagree",
    "at_once": "keep other work off the load generator's core, and measure again",
    "inconsistent": "measure again: these figures are not those of one run",
    "sampling": "begin a new campaign: one sampling for all launches",
    "release": "serve both sides by one release: --release",
    "flags": "start all servers alike: one preset, the same --server-flag",
    "workload": "begin a new campaign: the dataset or tokenizer has changed",
    "prefix_caching": "switch it off: --server-flag=--no-enable-prefix-caching",
    "compilation": "see that the pass that is thrown away meets every shape; --enforce-eager compiles nothing",
    "mixed_steps": "measure again: a side must change while the engine is idle",
    "wrong_side": "measure again: a side must change while the engine is idle",
    "builds_per_step": "serve a release that the side fits: --release",
    "unequal": "find the difference first: gdnbench conform",
    "unproven": "measure the sides in servers of their own: --method apart",
    "never_ran": "choose a server that runs it (drafts: --speculative mtp), or measure the step: gdnbench step",
    "texts": "find the difference first: gdnbench conform; one side may have found the other's state",
    "acceptance": "read the step time; more launches average what acceptance does by chance",
}
"""What to do about each fault."""


def headline(result: ServeResult) -> str:
    """One sentence: the verdict, on what, where, and how sure it is."""
    sides = result.identity.sides
    start = f"{result.verdict.value}: {sides[BEFORE]} -> {sides[AFTER]} in {setting(result.identity)}"
    if result.invalid:
        return f"{start}: {faults(result.invalid)}"
    told = ", ".join(_at_concurrency(result, row, not place) for place, row in enumerate(result.primary))
    return f"{start}: {told}; {launches(result.identity.launches)}"


def setting(identity: ServeIdentity) -> str:
    """In which server: release, preset, runner, graphs, speculation."""
    releases = " and ".join(dict.fromkeys(identity.releases.values()))
    runner, graphs = (" and ".join(dict.fromkeys(each.values())) for each in (identity.runner, identity.graphs))
    return f"live vLLM {releases} ({identity.preset}, runner {runner}, graphs {graphs}, {speculation(identity)})"


def speculation(identity: ServeIdentity) -> str:
    """How the server speculates."""
    if identity.speculative is None:
        return "no speculation"
    drafts = identity.speculative.get("num_speculative_tokens")
    return f"{identity.speculative.get('method', 'speculation')} with {drafts} drafts"


def load(identity: ServeIdentity) -> str:
    """Which requests, and how many."""
    blocks = " and ".join(
        f"{rounds} blocks of {requests} request{'' if requests == 1 else 's'} at concurrency {at}"
        for at, requests, rounds in identity.loads
    )
    name = identity.workload.get("dataset", {}).get("name", "requests of unknown origin")
    return f"{name}, {identity.output_len} output tokens; in a launch each side answers {blocks}"


def launches(count: int) -> str:
    """So many, with the word."""
    return f"{count} launch{'' if count == 1 else 'es'}"


def faults(invalid: Sequence[Fault]) -> str:
    """The first, and how many more."""
    more = f"; and {len(invalid) - 1} more fault{'s' if len(invalid) > 2 else ''}" if len(invalid) > 1 else ""
    return f"{invalid[0].message}{more}"


def in_short(result: ServeResult) -> str:
    """What the server said, as a clause of another sentence."""
    if result.invalid:
        return f"the campaign in a live server is invalid: {faults(result.invalid)}"
    rows = [
        f"{_short(row)} at {'concurrency ' if not place else ''}{row.concurrency}"
        for place, row in enumerate(result.primary)
    ]
    return f"in a live server tok/s is {' and '.join(rows)}"


def kinds(covered: Coverage) -> list[tuple[str, dict[str, Builds | None]]]:
    """Each kind of step that any side met, in words, with the builds of each role in it."""
    found = dict.fromkeys((one.kind, one.staged) for builds in covered.builds.values() for one in builds)
    return [
        (
            f"{kind.value}{', staged' if staged else ''}",
            {
                role: next((one for one in builds if (one.kind, one.staged) == (kind, staged)), None)
                for role, builds in covered.builds.items()
            },
        )
        for kind, staged in found
    ]


def coverage(result: ServeResult) -> str:
    """Whether the changed code ran, with figures."""
    ran = result.coverage.ran
    counts = ", ".join(f"{count:,} builds of {role}" for role, count in ran.items())
    if all(ran.get(role) for role in (BEFORE, AFTER)):
        return f"The changed code ran, in {result.coverage.needs}: {counts}"
    return f"The changed code did not run on both sides; it takes {result.coverage.needs}: {counts or 'no build'}"


def sees(result: ServeResult) -> str:
    """The smallest change that was to be seen."""
    found = [f"{share(value)} at concurrency {at}" for at, value in result.smallest_detectable.items() if value]
    if not found:
        return "Too few launches to find a change of tok/s of any size"
    return f"Such a campaign finds a change of tok/s of {' and '.join(found)}, four times in five"


def control(result: ServeResult) -> str:
    """What the control is."""
    if not result.controls:
        return "none: no side was measured twice in a row"
    if result.identity.method == "apart":
        return "each server against the next one, where both ran the same side"
    return "before against itself in the same launches"


def advice(result: ServeResult, command: str) -> str:
    """What to do next, in one line.

    Args:
        command: that asks the same with `{launches}` launches.
    """
    if result.invalid:
        return ADVICE[result.invalid[0].code]
    unknown = [row.judgement for row in result.primary if row.judgement.verdict is Verdict.UNKNOWN]
    more = [judgement.more_launches for judgement in unknown if judgement.more_launches is not None]
    if more:
        return f"settle it with more launches: {command.format(launches=result.identity.launches + max(more))}"
    if unknown:
        return "nothing that more launches would settle: the change is too small for this machine"
    if result.verdict is Verdict.SAME:
        return "measure the step itself, which resolves what a server cannot: gdnbench step " + _sides(result)
    return "see what the step asks of the device: gdnbench cost " + _sides(result)


def row_notes(row: ServeRow) -> list[str]:
    """What must be read with a row."""
    own = row.judgement
    found = [row.note] if row.note else []
    if own.verdict is Verdict.UNKNOWN and own.more_launches is None and own.reason:
        found.append(own.reason)
    return found + [caveat(one) for one in own.warnings]


def caveat(one: Caveat) -> str:
    """A caveat with its advice."""
    return f"{one.message}: {one.advice}"


class Footnotes:
    """Notes by number, each once, in the order in which they are first referred to."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def marks(self, notes: Sequence[str]) -> str:
        """The numbers of these notes, e.g. ` [1,3]`; empty without notes."""
        numbers = [self.numbers.setdefault(note, len(self.numbers) + 1) for note in notes]
        return f" [{','.join(map(str, sorted(numbers)))}]" if numbers else ""


def name(row: ServeRow) -> str:
    """Metric, statistic and unit of a row."""
    statistic = "" if row.statistic == "rate" else f", {row.statistic}"
    return f"{_NAMES.get(row.metric.tag, row.metric.tag.upper())}{statistic} ({row.metric.unit})"


_NAMES = {
    "output_throughput": "output",
    "total_token_throughput": "prompt and output",
    "request_throughput": "requests",
    "acceptance_length": "tokens per step",
}


def _sides(result: ServeResult) -> str:
    return f"{result.identity.sides[BEFORE]} {result.identity.sides[AFTER]}"


def _at_concurrency(result: ServeResult, row: ServeRow, first: bool) -> str:
    """One primary row; its verdict, where it is not that of all."""
    own, at = row.judgement, f"at {'concurrency ' if first else ''}{row.concurrency}"
    split = next((one for one in result.decomposition if one.concurrency == row.concurrency), None)
    if own.ratio is None or split is None:
        return f"{own.reason} {at}"
    verdict = "" if own.verdict is result.verdict else f", {own.verdict.value}"
    if split.leads == "step_time" and split.step_time is not None and split.acceptance is not None:
        beside = f"tok/s {percent(own.ratio)} beside acceptance {percent(split.acceptance.ratio)}"
        return f"step time {percent(split.step_time.ratio)} {at} ({_sure(split.step_time.interval)}; {beside}{verdict})"
    return f"tok/s {percent(own.ratio)} {at} ({_sure(own.interval)}{verdict})"


def _sure(ends: Interval) -> str:
    return "no interval yet" if ends is None else f"95 % interval {interval(ends)}"


def _short(row: ServeRow) -> str:
    own = row.judgement
    if own.verdict is Verdict.SAME:
        return f"same within {row.metric.floor_percent:g} %"
    if own.verdict is Verdict.UNKNOWN or own.ratio is None:
        return own.verdict.value
    return f"{own.verdict.value} ({percent(own.ratio)})"
