"""55404: graph-capture metadata without waiting for the device. vLLM 0.29.0 -> 0.30.0."""

from __future__ import annotations

import torch
from torch import Tensor

from gdn_impl import pr52078
from gdn_impl.batch import CommonMetadata


class Before(pr52078.After):
    """The drafts of a captured batch come back from the device, by a copy that blocks."""


class After(Before):
    """They come from the host's copy of the offsets."""

    def drafts_for_capture(self, common: CommonMetadata, accepted: Tensor) -> Tensor:
        drafts = torch.diff(common.query_start_loc_cpu).sub_(1)
        assert drafts.shape == accepted.shape, "host and device offsets speak of different batches"
        return drafts
