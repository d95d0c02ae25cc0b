"""Hypothesis strategies that several tests share."""

from __future__ import annotations

from hypothesis import strategies as st

from gdnbench.values.scenarios import Scenario, random_scenario

# The generator that conformance uses, fed with choices that hypothesis can shrink.
steps: st.SearchStrategy[Scenario] = st.randoms(use_true_random=False).map(random_scenario)
captures: st.SearchStrategy[Scenario] = st.randoms(use_true_random=False).map(
    lambda rng: random_scenario(rng, capture=True)
)
