"""The recipes of docs/many-machines.md: the Slurm script runs, with stand-ins for Slurm; the KubeRay file is whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import check, commands

ROOT = Path(__file__).parents[2]
SLURM = ROOT / "docs" / "cluster" / "slurm.sbatch"
KUBERAY = ROOT / "docs" / "cluster" / "kuberay.yaml"


def test_every_recipe_is_named_by_the_page():
    page = (ROOT / "docs" / "many-machines.md").read_text("utf-8")
    assert set(re.findall(r"\]\((cluster/[\w.]+)\)", page)) == {
        f"cluster/{path.name}" for path in SLURM.parent.iterdir()
    }


def test_the_slurm_script_is_a_script_and_its_command_exists():
    subprocess.run(["bash", "-n", str(SLURM)], check=True)
    ((*arguments,),) = commands(SLURM.read_text("utf-8").replace(' "$@"', ""), {})
    check(arguments)
    assert "--executor" in arguments


def test_every_line_for_slurm_stands_before_the_first_command():
    lines = SLURM.read_text("utf-8").splitlines()
    asked = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    assert max(asked) < first, "Slurm reads no further"
    assert sum("hetjob" in lines[number] for number in asked) == 1
    assert "--exclusive" in lines[asked[-1]]


@pytest.mark.slow
def test_the_slurm_script_runs_a_campaign(tmp_path: Path):
    """`srun` runs its command here, as on a machine with one processor; all else is real."""
    pytest.importorskip("ray")
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "activate").write_text(f'PATH="{binaries}:{Path(sys.executable).parent}:$PATH"\n')
    scripts = {
        "srun": """
            [ "$1" = --het-group=1 ] || exit 1
            shift
            exec "$@" --num-cpus=1 --object-store-memory=80000000
            """,
        "gdnbench": f'exec "{sys.executable}" -m gdnbench "$@"',
    }
    for name, text in scripts.items():
        (binaries / name).write_text("#!/bin/bash\n" + textwrap.dedent(text))
        (binaries / name).chmod(0o755)
    env = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE": "1"}
    env |= {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_ID": str(os.getpid()), "PYTHONPATH": str(ROOT)}
    script = tmp_path / "slurm.sbatch"
    script.write_text(SLURM.read_text("utf-8").replace("--head", "--head --object-store-memory=80000000"))
    few = ["--device", "cpu", "--scenario", "16q1s1k", "--launches", "2", "--rounds", "3", "--fail-on", "none"]
    done = subprocess.run(["bash", str(script), *few], env=env, capture_output=True, text=True, timeout=200)
    logs = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert done.returncode == 0, done.stderr + logs
    assert len(list(tmp_path.glob("cache/campaigns/*/launches/*.json"))) == 2
    assert len(list(tmp_path.glob("runs/*-step-*/run.json"))) == 1


def cluster() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(KUBERAY.read_text("utf-8"))
    return found


def groups() -> list[dict[str, Any]]:
    spec = cluster()["spec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


def test_the_kuberay_file_is_whole():
    found = cluster()
    assert (found["apiVersion"], found["kind"]) == ("ray.io/v1", "RayCluster")
    assert found["spec"].keys() == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert len({container["image"] for group in groups() for container in containers(group)}) == 1
    for group in groups():
        for value in group["rayStartParams"].values():
            assert isinstance(value, str), "KubeRay takes text alone"
        for container in containers(group):
            assert container["resources"]["requests"] == container["resources"]["limits"]
    for group in found["spec"]["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


def containers(group: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = group["template"]["spec"]["containers"]
    return found


def test_the_head_runs_no_launches_and_keeps_what_is_kept_on_a_volume():
    head = groups()[0]
    assert head["rayStartParams"]["num-cpus"] == "0"
    (container,) = containers(head)
    (mount,) = container["volumeMounts"]
    assert mount["name"] in {volume["name"] for volume in head["template"]["spec"]["volumes"]}
    places = {one["name"]: one["value"] for one in container["env"]}
    for name in ("GDNBENCH_CACHE", "GDNBENCH_HISTORY"):
        assert places[name].startswith(mount["mountPath"] + "/")


def test_no_two_workers_meet_on_one_machine():
    (workers,) = groups()[1:]
    labels = workers["template"]["metadata"]["labels"]
    (rule,) = workers["template"]["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"] == labels
    assert containers(workers)[0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
