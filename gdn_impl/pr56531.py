"""56531: rows that drafted nothing keep to the speculative path. Its part in the builder came with vLLM 0.32.0.

A row's recurrent state lies in a window of blocks, one for each token that it may accept in a step, and only the
speculative path applies the offset of the last accepted one. A batch in which nobody drafted fell back to the plain
path, which reads the window's first block. Not catalogued yet: the reference that faults of this kind are held against.
"""

from __future__ import annotations

from torch import Tensor

from gdn_impl import pr51565


class Before(pr51565.After):
    """A batch in which nobody drafted is a plain one."""


class After(Before):
    """A row is speculative if it could have drafted."""

    def find_drafts(self, drafts: Tensor | None) -> tuple[Tensor | None, int]:
        if not self.speculation or drafts is None:
            return None, 0
        mask = drafts >= 0
        rows = int(mask.sum().item())
        return (mask, rows) if rows else (None, 0)
