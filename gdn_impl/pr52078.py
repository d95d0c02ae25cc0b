"""52078: the draft mask is formed once, its negation (nearly) once. vLLM 0.28.0 -> 0.29.0."""

from __future__ import annotations

from torch import Tensor

from gdn_impl import pr51913
from gdn_impl.builder import DraftMask


class Before(pr51913.After):
    """Two comparisons find the mask; each use of its negation forms it anew."""


class NegatedOnce(DraftMask):
    """The negation is kept. The initial states of prefills still negate for themselves, as in 0.29.0."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__(mask)
        self._others = ~mask

    def others(self) -> Tensor:
        return self._others


class After(Before):
    """One comparison; gathering and summing only if any row is speculative."""

    draft_mask = NegatedOnce

    def find_drafts(self, drafts: Tensor | None) -> tuple[Tensor | None, int]:
        if not self.speculation or drafts is None:
            return None, 0
        mask = drafts >= 0
        rows = int(mask.sum().item())
        if rows == 0 or drafts[mask].sum().item() == 0:
            return None, 0
        return mask, rows
