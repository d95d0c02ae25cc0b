"""The plugin in real engines: both sides answer alike, everything is counted, and what is broken is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gdnbench.oracle.environment import release_process
from gdnbench.plugin.activation import server_environment
from gdnbench.plugin.control import Control, Snapshot
from gdnbench.values.coverage import Kind

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "datasets" / "tiny-gdn"
RELEASE = "0.29.0"
MTP = {"method": "mtp", "num_speculative_tokens": 2}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (MODEL / "model.safetensors").exists(), reason="no tiny model in this checkout"),
]


class LiveEngine:
    """A process with an engine, its control file, and what it answers."""

    def __init__(self, process: subprocess.Popen[str], control: Control, log: Path) -> None:
        self.process = process
        self.control = control
        self.log = log
        self.blocks = 0

    def ask(self, what: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def answer(self):
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()[-3000:]
        return json.loads(line)

    def generate(self, role: str | None, tokens: int = 24, **command: bool) -> tuple[list[str], Snapshot]:
        """The texts of one generation by one side, and what was counted meanwhile."""
        if role is not None:
            self.blocks += 1
            self.control.command(role, self.blocks, **command)
        before = self.control.snapshot()
        self.ask(tokens)
        texts = self.answer()
        self.idle()
        return texts, self.control.snapshot().since(before)

    def idle(self) -> None:
        """Waits until no step is under way."""
        seen = self.control.snapshot()
        for _ in range(500):
            time.sleep(0.02)
            earlier, seen = seen, self.control.snapshot()
            if seen.steps_begun == seen.steps_ended == earlier.steps_begun:
                return
        raise AssertionError("a step never ended")

    def end(self, ending: signal.Signals) -> None:
        """Ends the engine's whole process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, ending)
        self.process.wait(60)


@contextmanager
def live(
    directory: Path, roles: dict[str, str], settings: dict[str, object], waits=None, fault_at: int = 200
) -> Iterator[LiveEngine]:
    release = release_process(RELEASE, whole=True)
    with Control.create(directory / "control", tuple(roles)) as control:
        env = release.env | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        env["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"  # a function of ours is sent to the worker
        env |= server_environment(directory, control, roles, waits, base=env, fault_at=fault_at)
        command = [str(release.python), str(ROOT / "tests/plugin/live_engine.py"), str(MODEL), json.dumps(settings)]
        log = directory / "log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        engine = LiveEngine(process, control, log)
        try:
            yield engine
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


@pytest.mark.parametrize(
    ("change", "settings", "groups", "ending"),
    [
        (51913, {"enable_prefix_caching": False}, 3, signal.SIGTERM),
        (52078, {"enable_prefix_caching": False, "speculative_config": MTP}, 2, signal.SIGKILL),
    ],
)
def test_both_sides_of_a_change_take_turns_in_one_engine(change, settings, groups, ending, tmp_path):
    before, after = f"pr{change}.before", f"pr{change}.after"
    roles = {"before": before, "after": after, "slow": f"{before}+300us", "own": f"vllm@{RELEASE}"}
    with live(tmp_path, roles, settings, waits={"slow": 300_000}) as engine:
        assert engine.answer() == [groups]
        expected, uncommanded = engine.generate(None)
        assert uncommanded.steps_begun > 10 and uncommanded.steps_built == 0

        found = {role: engine.generate(role) for role in roles}
        steps = {uncommanded.steps_begun}
        for role, (texts, counted) in found.items():
            assert texts == expected, role
            assert counted.builds(role) == counted.steps_built * groups
            assert sum(counted.builds(other) for other in roles) == counted.builds(role)
            assert counted.stamped(role) == counted.builds(role)
            assert counted.mixed_steps == counted.strayed_builds == counted.outside_builds == 0
            steps.add(counted.steps_begun)
            kinds = {one.kind: one for one in counted.coverage(role)}
            most = Kind.SPECULATIVE if "speculative_config" in settings else Kind.DECODE
            assert kinds[most].builds > 0.7 * counted.builds(role) and Kind.PREFILL in kinds
            assert not any(one.staged for one in kinds.values())  # eager
            assert role != "slow" or kinds[most].median_us > 300
        assert max(steps) - min(steps) <= 3  # requests arrive one by one while the first are served
        assert engine.control.snapshot().groups == groups

        facts = engine.control.facts()
        assert (facts["release"], facts["runner"], facts["graphs"]) == (RELEASE, "V1", "NONE")
        assert facts["speculation"] == (2 if "speculative_config" in settings else 0)
        assert facts["prefix_caching"] is False and facts["mamba_cache_mode"] == "none" and facts["staged"] is False

        texts, counted = engine.generate("before", compare=True)
        assert texts == expected
        assert counted.different == 0 and counted.different_fields == ()
        assert counted.steps_ended - 3 <= counted.compared / groups <= counted.steps_ended
        assert counted.builds("before") == 0

        texts, counted = engine.generate("after", observe=False)
        assert texts == expected and counted.builds("after") == counted.steps_built == 0
        assert counted.steps_begun == counted.steps_ended > 0

        engine.blocks += 1
        engine.control.command("before", engine.blocks)
        started = engine.control.snapshot()
        engine.ask(400)
        while engine.control.snapshot().since(started).steps_ended < 20:
            time.sleep(0.01)
        engine.end(ending)
        left = engine.control.snapshot().since(started)
        assert left.steps_ended >= 20
        assert left.builds("before") >= groups * (left.steps_ended - 1)


def test_what_is_broken_is_found_and_a_crash_is_seen(tmp_path):
    roles = {"before": f"vllm@{RELEASE}", "after": "fault:stale-initial-state"}
    roles |= {"rotated": "fault:rotated-states", "crash": "fault:crash"}
    with live(tmp_path, roles, {"enable_prefix_caching": False}, fault_at=5) as engine:
        engine.answer()
        expected, _ = engine.generate(None)
        texts, counted = engine.generate("before", compare=True)
        assert texts == expected
        assert 0 < counted.different < counted.compared
        assert set(counted.different_fields) == {"has_initial_state", "prefill_has_initial_state"}
        texts, _ = engine.generate("rotated")
        assert texts != expected

        engine.control.command("crash", 99)
        engine.ask(24)
        engine.process.wait(120)
        assert engine.process.returncode != 0
        snapshot = engine.control.snapshot()
        assert snapshot.steps_begun == snapshot.steps_ended + 1
        assert "fault:crash was told to fail in this build" in engine.log.read_text()


@pytest.mark.parametrize(
    ("roles", "settings", "says"),
    [
        ({"before": "pr51913.after"}, {"enable_prefix_caching": True}, "mamba cache mode is align"),
        pytest.param(
            {"before": "vllm@0.28.0"},
            {"enable_prefix_caching": False},
            "which runs vLLM 0.29.0",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_side_that_does_not_fit_ends_the_start_with_one_line(roles, settings, says, tmp_path):
    with live(tmp_path, roles, settings) as engine:
        engine.process.wait(240)
        assert engine.process.returncode != 0
        refusal = engine.control.refusal()
        assert refusal is not None and says in refusal and "\n" not in refusal
        assert says in engine.log.read_text()
        assert not engine.control.snapshot().ready
