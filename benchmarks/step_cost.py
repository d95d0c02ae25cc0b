"""Exact costs of one step, summed over the measured parts of a variant: the same on every machine."""

from __future__ import annotations

from collections import Counter

from benchmarks.common import SCENARIOS, VARIANTS

Counts = dict[tuple[str, str], dict[str, int]]


class StepCost:
    """What one step asks of the device. A scenario that no part of a variant can meet is skipped."""

    params = (VARIANTS, SCENARIOS)
    param_names = ("variant", "scenario")
    timeout = 600

    def setup_cache(self) -> Counts:
        from gdnbench.campaign.costs import count_here
        from gdnbench.drivers.registry import PARTS
        from gdnbench.values.variants import parse

        counts: Counts = {}
        for text in VARIANTS:
            variant = parse(text)
            for part in PARTS[variant.change or 0]:
                if not part.measured:
                    continue
                for scenario, cost in count_here(variant, part.name, variant.change, SCENARIOS)["costs"].items():
                    total = Counter(counts.get((text, scenario), {}))
                    total.update(cost["counts"])
                    counts[text, scenario] = dict(total)
        return counts

    def setup(self, counts: Counts, variant: str, scenario: str) -> None:
        if (variant, scenario) not in counts:
            raise NotImplementedError("no part of this variant meets the scenario")

    def track_device_ops(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["device_ops"]

    def track_h2d_pinned(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["h2d_pinned"]

    def track_h2d_pageable(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["h2d_pageable"]

    def track_d2h(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["d2h"]

    def track_syncs(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["syncs"]

    def track_host_ops(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["host_ops"]

    def track_alloc_bytes(self, counts: Counts, variant: str, scenario: str) -> int:
        return counts[variant, scenario]["alloc_bytes"]


for _name in [name for name in vars(StepCost) if name.startswith("track_")]:
    getattr(StepCost, _name).unit = "B" if _name == "track_alloc_bytes" else "count"
    getattr(StepCost, _name).version = "1"
