"""From the entry point to the patched builder, in a small tree that stands for vLLM where a failure needs a GPU,
several workers or a release that does not exist; real engines are driven in test_live_engine.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from types import SimpleNamespace

import pytest

from gdnbench.plugin.activation import NAME, entry_point_directory, server_environment
from gdnbench.plugin.control import Control
from gdnbench.plugin.patching import patch
from gdnbench.plugin.settings import PluginSettings
from gdnbench.values.errors import UserError

ROOT = Path(__file__).parents[2]

TREE = {
    "vllm/__init__.py": "__version__ = '0.29.0+cpu'",
    "vllm/v1/__init__.py": "",
    "vllm/v1/attention/__init__.py": "",
    "vllm/v1/attention/backends/__init__.py": "",
    "vllm/v1/worker/__init__.py": "",
    "vllm/v1/attention/backend.py": """
from dataclasses import dataclass

@dataclass
class CommonAttentionMetadata:
    num_reqs: int = 0
""",
    "vllm/v1/attention/backends/gdn_attn.py": """
from dataclasses import dataclass
import torch

@dataclass
class GDNAttentionMetadata:
    num_prefills: int = 0
    num_decodes: int = 1
    num_spec_decodes: int = 0

class GDNAttentionMetadataBuilder:
    num_spec, use_full_cuda_graph, gdn_prefill_backend = 0, False, "triton"
    decode_cudagraph_max_bs = 4

    def __init__(self, vllm_config):
        self.vllm_config = vllm_config
        self.spec_token_indx = torch.zeros(1)

    def build(self, common_prefix_len, common_attn_metadata, num_accepted_tokens=None,
              num_decode_draft_tokens_cpu=None, fast_build=False):
        return GDNAttentionMetadata()
""",
    "vllm/v1/worker/worker_base.py": """
class WorkerWrapperBase:
    def __init__(self, worker):
        self.worker = worker

    def execute_model(self, scheduled):
        return [builder.build(common_prefix_len=0, common_attn_metadata=scheduled) for builder in self.worker.builders]
""",
}

ROLES = {"before": "vllm@0.29.0", "after": "original"}


@pytest.fixture
def control(tmp_path):
    with Control.create(tmp_path / "control", tuple(ROLES)) as control:
        yield control


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """The tree, importable; whatever was imported of it is forgotten afterwards."""
    for name, text in TREE.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "tree")
    assert not any(name.partition(".")[0] == "vllm" for name in sys.modules)
    yield tmp_path / "tree"
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        del sys.modules[name]


class Runner:
    """A model runner by its module alone."""

    __module__ = "vllm.v1.worker.gpu.model_runner"


def start(control: Control, roles=ROLES, rank: int = 0, replicas: int = 1):
    """A worker of two KV groups in this process, patched; gives its step."""
    patch(PluginSettings(str(control.path), roles))
    from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadataBuilder
    from vllm.v1.worker.worker_base import WorkerWrapperBase

    config = SimpleNamespace(
        cache_config=SimpleNamespace(enable_prefix_caching=False, mamba_cache_mode="none"),
        speculative_config=None,
        parallel_config=SimpleNamespace(world_size=2, rank=rank, data_parallel_size=replicas),
        compilation_config=SimpleNamespace(cudagraph_mode=SimpleNamespace(name="NONE")),
    )
    builders = [GDNAttentionMetadataBuilder(config) for _ in range(2)]
    worker = SimpleNamespace(builders=builders, model_runner=Runner(), vllm_config=config)
    return WorkerWrapperBase(worker).execute_model


def test_steps_and_builds_are_counted_and_facts_are_told(tree, control):
    step = start(control)
    control.command("after", 3)
    made = step(scheduled=None)
    assert [type(one).__name__ for one in made] == ["GDNAttentionMetadata"] * 2
    snapshot = control.snapshot()
    assert snapshot.ready and snapshot.process == os.getpid()
    assert (snapshot.builds("after"), snapshot.groups, snapshot.steps_ended, snapshot.block) == (2, 2, 1, 3)
    facts = snapshot.facts
    assert (facts["release"], facts["runner"], facts["graphs"], facts["workers"]) == ("0.29.0", "V2", "NONE", 2)
    assert facts["prefix_caching"] is False and facts["fields"][0] == "num_prefills"


def test_a_second_worker_builds_and_leaves_the_counting_to_the_first(tree, control):
    step = start(control, rank=1)
    control.command("after", 3)
    assert len(step(scheduled=None)) == 2
    assert control.snapshot().process == control.snapshot().steps_begun == control.snapshot().builds("after") == 0


@pytest.mark.parametrize(
    ("before", "replicas", "change", "says"),
    [
        ("vllm@0.30.0", 1, None, "vllm@0.30.0 is not in this server, which runs vLLM 0.29.0"),
        ("pr51913.after", 1, None, "pr51913.after does not fit this server: its metadata lacks batch_ptr,"),
        ("original", 2, None, "--data-parallel-size 1"),
        ("original", 1, ("fast_build=False", "fast_build=False, cache=None"), "vLLM 0.29.0 asks builders for self, "),
    ],
)
def test_what_cannot_run_is_refused_where_the_harness_reads_it(tree, control, before, replicas, change, says):
    if change is not None:
        builders = tree / "vllm/v1/attention/backends/gdn_attn.py"
        assert change[0] in builders.read_text()
        builders.write_text(builders.read_text().replace(*change))
    with pytest.raises(UserError) as caught:
        start(control, {**ROLES, "before": before}, replicas=replicas)
    refusal = control.refusal()
    assert refusal == str(caught.value) and says in refusal and "\n" not in refusal
    assert not control.snapshot().ready


DRIVE = """
import sys
import tomllib
from importlib.metadata import entry_points
for _ in range(2):
    for point in entry_points(group="vllm.general_plugins"):
        point.load()()
assert "vllm" not in sys.modules and "torch" not in sys.modules, "a process that builds nothing pays nothing"
from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadataBuilder
print(GDNAttentionMetadataBuilder.build.__module__, hasattr(GDNAttentionMetadataBuilder.build, "__wrapped__"))
print(hasattr(getattr(GDNAttentionMetadataBuilder.build, "__wrapped__", None), "__wrapped__"))
"""


def drive(tree: Path, control: Control, **changed: str) -> subprocess.CompletedProcess[str]:
    """A process of a server that loads its plugins twice and then imports the builders."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    base["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(tree)])
    env = base | server_environment(tree.parent, control, ROLES, base=base) | changed
    command = [sys.executable, "-c", DRIVE]
    return subprocess.run(command, env=env, cwd=tree.parent, capture_output=True, text=True, check=False)


def test_loaded_twice_it_patches_once_and_only_where_builders_are_imported(tree, control):
    done = drive(tree, control)
    assert (done.returncode, done.stdout) == (0, "vllm.v1.attention.backends.gdn_attn True\nFalse\n"), done.stderr


def test_without_its_variable_it_does_nothing_at_all(tree, control):
    done = drive(tree, control, GDNBENCH_PLUGIN="")
    assert (done.returncode, done.stdout) == (0, "vllm.v1.attention.backends.gdn_attn False\nFalse\n"), done.stderr


def test_settings_that_cannot_be_read_end_the_process_with_the_path(tree, control, tmp_path):
    done = drive(tree, control, GDNBENCH_PLUGIN=str(tmp_path / "gone.json"))
    assert done.returncode == 1
    assert f"GDNBENCH_PLUGIN names {tmp_path / 'gone.json'}, which cannot be read" in done.stderr


def test_the_entry_point_needs_no_installation(tmp_path):
    directory = entry_point_directory(tmp_path / "entry")
    (found,) = distributions(path=[str(directory)])
    (point,) = found.entry_points
    assert (point.group, point.name) == ("vllm.general_plugins", NAME)
    assert point.load().__name__ == "activate"


def test_the_installed_project_has_the_same_entry_point(tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (found,) = distributions(path=[str(entry_point_directory(tmp_path))])
    assert project["entry-points"]["vllm.general_plugins"] == {point.name: point.value for point in found.entry_points}


def test_the_servers_environment_keeps_its_path(tmp_path, control):
    base = {"PYTHONPATH": "/src", "OMP_NUM_THREADS": "1"}
    env = server_environment(tmp_path, control, ROLES, {"after": 5}, base=base, fault_at=9)
    assert set(env) == {"PYTHONPATH", "VLLM_PLUGINS", "GDNBENCH_PLUGIN"}
    assert env["PYTHONPATH"].split(os.pathsep)[1:] == ["/src"]
    settings = json.loads(Path(env["GDNBENCH_PLUGIN"]).read_text())
    told = {"control": str(control.path), "variants": ROLES, "waits": {"after": 5}, "fault_at": 9, "witness": None}
    assert settings == told
    with pytest.raises(ValueError, match="roles"):
        server_environment(tmp_path, control, {"before": "original"}, base=base)
