"""40654: an upper bound of the sequence lengths on the host, so that no builder asks the device. 0.19.1 -> 0.20.0.

The bound is computed plus scheduled tokens, every draft taken as accepted. It never falls below the truth, is exact for
rows that prefill and wherever nothing is speculated asynchronously, and sizes things: it is never used as an index.

One change, many places; one file each, with a `Before` and an `After` that overrides what the change touched:

    runner_v1.py, runner_v2.py   where the bound is made, and advanced with the mirror of computed tokens
    common.py                    where it travels: the batch's common metadata
    proposer.py                  where the drafter advances it
    slices.py                    micro-batches cut from a batch
    splitter.py                  decodes, extends and prefills told apart
    cross_attention.py           which rows have their encoder's keys cached
    mla.py                       context of prefills, in chunks
    flashmla_sparse.py           workspace of prefills, in chunks
    indexer.py                   the sparse indexer's chunks of prefills (its decode half: indexer_decode.py)

Where a builder calls a row a prefill that in truth decodes (rows of unlike length beside a builder that wants them
uniform), the bound may exceed the truth, and what is sized by it is larger; nothing else may differ.

Flex attention and DFlash read the bound in 0.20.0 too. Neither has code in 0.19.1 that it replaces, so there is no
before to compare with, and they are left out.
"""
