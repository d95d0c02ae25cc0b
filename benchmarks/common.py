"""What the suites share. Appending is safe; changing what is here makes old results incomparable: bump `version`."""

from __future__ import annotations

import os
from pathlib import Path

from gdn_impl.catalog import CATALOG

_FIRST = (51913, 52078, 51565, 55404, 40654, 41873)
VARIANTS = [f"pr{number}.{side}" for number in dict.fromkeys((*_FIRST, *CATALOG)) for side in ("before", "after")]

SCENARIOS = [
    "q1s1k",
    "16q1s1k",
    "16q1s1k/eager",
    "15q1s1k_q2k",
    "16q9s1kd8",
    "8q9s1kd8_6q1s1k_2q128",
    "16q1s1k/g30",
    "13q1s1k_3pad",
    "16q9s1k/spec8/capture",
    "12q9s1kd8_2q200s1k_2q128/async",
]


ROOT = Path(__file__).parents[1]


def has_releases() -> bool:
    """Whether the environment that vLLM's releases run in is there: the checkout's own, or the one that is named."""
    from gdnbench.oracle.environment import PYTHON_VARIABLE, release_python
    from gdnbench.values.errors import EnvironmentMissing

    own = ROOT / ".venv-vllm" / "bin" / "python"
    if own.exists():
        os.environ.setdefault(PYTHON_VARIABLE, str(own))
    try:
        release_python()
    except EnvironmentMissing:
        return False
    return True


def skip_without_releases(found: object) -> None:
    """For `setup`: asv skips what raises this."""
    if found is None:
        raise NotImplementedError("no environment for vLLM releases: make vllm")
