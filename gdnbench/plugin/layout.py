"""Where everything lies in a control file: 8-byte words, a few texts, and for each role counters and histograms.

The file is mapped by the harness, which commands, and by the plugin inside the server, which counts. What one of them
stores is seen by the other at once, and stays in the file however the server ends.
"""

from __future__ import annotations

from gdnbench.values.coverage import Kind

MAGIC = 0x6764_6E62_656E_6303
"""The first word; its last byte is the version of this layout."""

# Words of the head
COMMAND, STATE, PROCESS, GROUPS, BLOCK, FACTS, MESSAGE, NAMES = range(1, 9)
"""BLOCK: stamped on the latest builds. FACTS, MESSAGE, NAMES: place and length of a text, see `text_word`."""
STARTING, READY, REFUSED = range(3)

# Texts, bytes
NAMES_AT, NAMES_SIZE = 128, 896
MESSAGE_AT, MESSAGE_SIZE = 1024, 3072
FACTS_AT, FACTS_SIZE = (4096, 12288), 8192
"""Facts are written in turns to two places, so that a reader never meets half of them."""

# Words of a role
BEGUN, ENDED, BUILT, MIXED, STRAYED, OUTSIDE, STAMPED, COMPARED, DIFFERENT, FIELDS, PACED, PACES = range(12)
"""Steps begun, ended, that built, mixed; builds of mixed steps, outside of a step, stamped with BLOCK; builds compared,
those in which some field differed, and these fields, a bit for each; nanoseconds of the loop at a step's begin, and how
often it ran."""
PHASES, PHASE_AT = 3, 12
"""Where observation takes turns from step to step: for each phase its steps without a prefill, and the sum of the
logarithms of their nanoseconds in units of 1 / LOG_UNITS. In phase 0 builds are observed, in the others not."""
LOG_UNITS = 1_000_000
CELLS = 20
"""For each kind of step, unstaged and staged: nanoseconds in all, then the histogram."""

BUCKETS = 512
BUCKET_RATIO = 1.05
"""Each bucket of a histogram reaches 5 % further than the one before; the first begins at 1 ns, the last at 63 s."""
CELL_WORDS = 1 + BUCKETS
KINDS = tuple(Kind)
ROLE_WORDS = CELLS + 2 * len(KINDS) * CELL_WORDS
ROLES_AT = 20480 // 8
"""The first word of the first role."""
MOST_ROLES = 8

# The command: who builds, in which block, watched or not; one word, so that it changes in one store.
OBSERVE, COMPARE, ALTERNATE = 1 << 8, 1 << 9, 1 << 10
BLOCK_SHIFT = 16
MOST_BLOCKS = 1 << 40
NOBODY = 0xFF
"""The role in the word of a file that nothing was commanded in: the server's own builder, uncounted."""


def role_at(role: int) -> int:
    """The first word of a role."""
    return ROLES_AT + role * ROLE_WORDS


def cell_at(role: int, kind: Kind, staged: bool) -> int:
    """The first word of a cell."""
    return role_at(role) + CELLS + (2 * KINDS.index(kind) + staged) * CELL_WORDS


def file_size(roles: int) -> int:
    """Bytes; behind the roles lies one more, for builds that nobody commanded."""
    return 8 * role_at(roles + 1)


def command_word(role: int, block: int, observe: bool, compare: bool, alternate: bool = False) -> int:
    """One command."""
    how = (OBSERVE if observe else 0) | (COMPARE if compare else 0) | (ALTERNATE if alternate else 0)
    return role | how | block << BLOCK_SHIFT


def text_word(place: int, length: int) -> int:
    """Where a text lies, in one word."""
    return place << 32 | length


def text_place(word: int) -> slice:
    """The bytes that `text_word` speaks of."""
    place, length = word >> 32, word & 0xFFFF_FFFF
    return slice(place, place + length)
