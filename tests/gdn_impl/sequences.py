"""Steps of a server one after another, for builders that keep something from step to step."""

from __future__ import annotations

from gdnbench.values.scenarios import parse


def sequence_step(rng, depth, staged, groups):
    """One step of a server: decodes or rows with drafts, sometimes prefills beside them, or padding."""
    suffix = ("" if staged else "/eager") + (f"/g{groups}" if groups > 1 else "")
    rows, parts = rng.randint(1, 12), []
    if depth and rng.random() < 0.7:
        drafts = rng.choice([depth, depth, rng.randint(0, depth)])
        parts.append(f"{rows}q{drafts + 1}s1kd{drafts}")
        suffix += f"/spec{depth}"
    else:
        parts.append(f"{rows}q1s1k")
        suffix += f"/spec{depth}" if depth else ""
    if rng.random() < 0.3:
        parts.append(rng.choice(["q128", "2q300s1k", "q1s1p64", "q64"]))
    elif staged and rng.random() < 0.4:
        parts.append(f"{rng.randint(1, 4)}pad")
    return parse("_".join(parts) + suffix)
