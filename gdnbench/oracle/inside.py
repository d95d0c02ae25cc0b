"""Seen from inside a release process: which vLLM it really is."""

from __future__ import annotations

from gdnbench.values.errors import EnvironmentMissing


def require_release(release: str) -> None:
    """Imports vLLM, and holds it to the release that this process was started for.

    Raises:
        EnvironmentMissing: vLLM cannot be imported here, or another one comes first.
    """
    try:
        import vllm
    except Exception as error:
        raise EnvironmentMissing(
            f"vLLM {release} cannot be imported ({type(error).__name__}: {error}): make its environment with make vllm"
        ) from None
    if not release.startswith("path:") and vllm.__version__.partition("+")[0] != release:
        raise EnvironmentMissing(f"this process was to run vLLM {release}, and it is {vllm.__version__}")
