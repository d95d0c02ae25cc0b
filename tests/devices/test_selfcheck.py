"""The self-check: what it makes of a GPU's records, and how it takes leave where there is no GPU."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from gdnbench.devices.base import CudaDevice
from gdnbench.devices.programs import PROGRAMS
from gdnbench.devices.selfcheck import NO_GPU, Check, Observed, check, count_events, main, report
from gdnbench.devices.traced import TracedDevice

BY_NAME = {program.name: program for program in PROGRAMS}
HAS_GPU = torch.cuda.is_available()


def observed(**changes):
    fields = {"waits": 0, "kernels": 0, "h2d_pinned": 0, "h2d_pageable": 0, "d2h": 0, "values": ([1],)}
    return Observed(**(fields | changes))


def held(name, gpu, inside=False):
    """A check of a program whose traced side is what its table says and whose GPU side is given."""
    program = BY_NAME[name]
    with TracedDevice().record() as trace:
        pass
    costs = type(trace.costs())(**program.counts)
    return Check(program, costs, inside, ([1],), gpu)


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys):
    assert main([]) == 4
    assert capsys.readouterr().out == NO_GPU + "\n"
    assert main(["--json"]) == 4
    assert json.loads(capsys.readouterr().out) == {"agrees": None, "reason": NO_GPU}


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "gdnbench.devices.selfcheck", "--json"], capture_output=True, text=True
    )
    assert done.returncode in ((0, 1) if HAS_GPU else (4,))
    assert "agrees" in json.loads(done.stdout)
    assert HAS_GPU or done.stderr == ""


def test_gpu_events_are_counted_by_their_names():
    names = [
        "Memcpy HtoD (Pinned -> Device)",
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy DtoH (Device -> Pageable)",
        "Memcpy DtoH (Device -> Pinned)",
        "Memcpy DtoD (Device -> Device)",
        "Memset (Device)",
        "void at::native::vectorized_elementwise_kernel<4>",
    ]
    assert count_events(names) == {"kernels": 3, "h2d_pinned": 1, "h2d_pageable": 2, "d2h": 2}


@pytest.mark.parametrize(
    ("name", "gpu", "inside"),
    [
        ("item", observed(waits=1, d2h=1), False),
        ("nonzero", observed(waits=2, d2h=1, kernels=3), True),
        ("argsort", observed(kernels=4), False),
        ("copy from pageable memory, non-blocking", observed(waits=0, h2d_pageable=1), False),
    ],
)
def test_agreement(name, gpu, inside):
    assert held(name, gpu, inside).disagreements == []


@pytest.mark.parametrize(
    ("name", "gpu", "says"),
    [
        ("item", observed(d2h=1), "syncs 1, the GPU waited 0 times"),
        ("argsort", observed(kernels=4, waits=1), "syncs 0, the GPU waited 1 times"),
        ("argsort", observed(), "device_ops 1, on the GPU 0 kernels"),
        ("argsort", observed(kernels=1, d2h=1), "d2h 0, on the GPU 1"),
        ("pinned, non-blocking", observed(h2d_pageable=1), "h2d_pinned 1, on the GPU 0"),
        ("argsort", observed(kernels=1, values=([2],)), "result ([1],), on the GPU ([2],)"),
    ],
)
def test_disagreement(name, gpu, says):
    one = held(name, gpu)
    assert says in one.disagreements
    assert not one.to_json()["agrees"]
    assert says in report([one]) and "0 of 1 programs agree" in report([one])


def test_kernels_per_operation():
    assert held("argsort", observed(kernels=4)).to_json()["kernels_per_operation"] == 4
    assert held("item", observed(waits=1, d2h=1)).to_json()["kernels_per_operation"] is None


@pytest.mark.slow
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_gpu_agrees(program):
    assert check(program, CudaDevice()).disagreements == []
