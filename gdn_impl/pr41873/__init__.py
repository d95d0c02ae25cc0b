"""41873: padded rows lose their stale `is_prefilling`. vLLM 0.21.0 -> 0.22.0, runner V1, issue 41841.

The story: compacting the batch leaves old token counts in vacated slots (`input_batch`). The runner pads a step to the
size of a captured graph and reads those slots as rows (`runner`): where an old request was still prefilling, a row of
padding says that it prefills. Mamba believes it (`mamba`): the step is no longer all decodes, the buffers that the
graph reads are not refreshed, and the replay works on the states of another request. The change clears the flag from
the first padded row on.
"""

from gdn_impl.pr41873.input_batch import InputBatch
from gdn_impl.pr41873.mamba import GuardedMambaBuilder, MambaBuilder, MambaMetadata
from gdn_impl.pr41873.runner import After, Before, PaddedStep

__all__ = ["After", "Before", "GuardedMambaBuilder", "InputBatch", "MambaBuilder", "MambaMetadata", "PaddedStep"]
