"""Small vLLM checkouts: with them release processes, two-process launches, and launches that die run for real.

They hold the few modules that the driver of a release imports, and give it our own builder.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

MODULES = {
    "vllm/__init__.py": "__version__ = '0.0.0'\nprint('noise on standard output')\n",
    "vllm/utils/torch_utils.py": "",
    "vllm/model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py": "",
    "vllm/v1/attention/backend.py": "from gdn_impl.batch import CommonMetadata as CommonAttentionMetadata\n",
    "vllm/v1/kv_cache_interface.py": """
        class MambaSpec:
            def __init__(self, **values): self.values = values
        """,
    "vllm/v1/attention/backends/gdn_attn.py": """
        from gdn_impl.builder import BuilderConfig
        from gdn_impl.pr51913 import After

        class GDNAttentionMetadataBuilder:
            def __init__(self, spec, layers, config, device):
                self.ours = After(BuilderConfig(0, True, 64, 512), device)

            def build(self, prefix, common, accepted, drafts):
                {statement}
                return self.ours.build(prefix, common, accepted, drafts)
        """,
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Makes a checkout whose builder runs one more statement in each build; gives the variant that names it."""
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))

    def make(name: str, statement: str = "pass") -> str:
        root = tmp_path / name
        for path, text in MODULES.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text).replace("{statement}", statement))
        for folder in (root / "vllm").rglob("*"):
            if folder.is_dir() and folder.name != "__pycache__":
                (folder / "__init__.py").touch()
        return f"path:{root}"

    return make
