"""Executors: what each asks of machines, and what it does when one is lost. The cluster is a stand-in."""

from __future__ import annotations

import ast
import os
import pickle
import socket
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gdnbench
from gdnbench.campaign.code import contents, own_code
from gdnbench.campaign.executors import on_ray, reaching, site
from gdnbench.campaign.executors.base import LOCAL, LaunchLost, Needs, hardware_here
from gdnbench.campaign.machine import Hardware, accelerators
from gdnbench.cli import app, exits
from gdnbench.values.errors import EnvironmentMissing, UserError

exceptions = pytest.importorskip("ray.exceptions")

SMALL, LARGE = Hardware("a processor", 2), Hardware("another processor", 64, ("NVIDIA H200",))


def sound(say: Callable[[str], None]) -> None:
    """A machine that has what is needed."""


def lacking(say: Callable[[str], None]) -> None:
    raise EnvironmentMissing("no environment for vLLM releases: make it with make vllm")


def measure(number: int, directory: Path, tick: Callable[[], None]) -> int:
    tick()
    return number


def fail(number: int, directory: Path, tick: Callable[[], None]) -> int:
    log = directory / "launches" / "003.log"
    log.parent.mkdir()
    log.write_text("what it wrote at last\n")
    raise UserError(f"launch {number} died; its log: {log}")


NEEDS = Needs("cpu", sound)


@dataclass
class Cluster:
    """In place of Ray: machines by name, which answer at once or are lost with what they run."""

    machines: dict[str, Hardware | str]
    losing: dict[str, int] = field(default_factory=dict)
    """How many launches a machine loses before it works."""
    dying: set[str] = field(default_factory=set)
    """Those that are gone for good with the first launch."""
    processors: dict[str, float] = field(default_factory=dict)
    gpus: dict[str, float] = field(default_factory=dict)
    exceptions: Any = exceptions
    asked: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)
    under_way: dict[str, int] = field(default_factory=Counter)

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "NodeID": name.encode().hex().ljust(56, "0"),
                "Alive": True,
                "NodeManagerAddress": name,
                "Resources": {"CPU": self.processors.get(name, 4.0), "GPU": self.gpus.get(name, 0.0)},
            }
            for name in self.machines
        ]

    def put(self, work: Any) -> Any:
        return work

    def remote(self, function: Callable[..., Any]) -> Cluster:
        self.function = function
        return self

    def options(self, scheduling_strategy: Any, **options: Any) -> Any:
        assert not scheduling_strategy.soft and options["max_retries"] == 0, "never elsewhere, never twice"
        return Task(self, self.function, bytes.fromhex(scheduling_strategy.node_id).rstrip(b"\0").decode(), options)

    def wait(self, refs: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        return refs[-1:], refs[:-1]

    def get(self, ref: Any) -> Any:
        return ref()

    def shutdown(self) -> None:
        pass


@dataclass
class Task:
    cluster: Cluster
    function: Callable[..., Any]
    node: str
    options: dict[str, Any]

    def remote(self, *arguments: Any) -> Any:
        if self.function is not site.launch:
            found = self.cluster.machines[self.node]
            return lambda: found if isinstance(found, str) else site.Look(None, found)
        self.cluster.asked.append((self.node, arguments[1], self.options))
        self.cluster.under_way[self.node] += 1
        assert self.cluster.under_way[self.node] == 1, "one launch at a time on each machine"
        return partial(self._result, arguments)

    def _result(self, arguments: Any) -> Any:
        self.cluster.under_way[self.node] -= 1
        if self.node in self.cluster.dying:
            self.cluster.machines.pop(self.node, None)
            raise exceptions.NodeDiedError("the node died. More follows")
        if self.cluster.losing.get(self.node, 0):
            self.cluster.losing[self.node] -= 1
            raise exceptions.WorkerCrashedError
        return site.launch(*arguments)


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cluster], on_ray.RayExecutor]:
    def make(cluster: Cluster, patience_s: float = 60.0) -> on_ray.RayExecutor:
        monkeypatch.setattr(on_ray, "reach", lambda address: cluster)
        monkeypatch.setattr(on_ray, "POLL_S", 0.01)
        monkeypatch.setattr(on_ray, "JOINING_S", 0.1)
        return on_ray.RayExecutor("10.0.0.1:6379", patience_s)

    return make


def ran(executor: on_ray.RayExecutor, needs: Needs, numbers: list[int], place: Path) -> tuple[list[int], list[str]]:
    """The records, and what was said."""
    said: list[str] = []
    with executor:
        executor.prepare(needs, said.append)
        return list(executor.run(measure, numbers, place)), said


def test_this_machine_runs_launches_in_their_order(tmp_path: Path) -> None:
    ticks: list[None] = []
    LOCAL.prepare(NEEDS, print)
    assert list(LOCAL.run(measure, [2, 3], tmp_path, lambda: ticks.append(None))) == [2, 3]
    assert len(ticks) == 2
    with pytest.raises(EnvironmentMissing, match="make vllm"):
        LOCAL.prepare(Needs("cpu", lacking), print)


def test_a_campaign_begun_on_other_hardware_does_not_go_on_here() -> None:
    with pytest.raises(UserError, match="ran on another processor, 64 cores, NVIDIA H200, and this machine is"):
        LOCAL.prepare(Needs("cpu", sound, hardware=LARGE), print)
    LOCAL.prepare(Needs("cpu", sound, hardware=hardware_here()), print)


def test_every_launch_comes_once_from_machines_of_one_kind(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL, "b": LARGE, "c": SMALL})
    found, said = ran(executor(cluster), NEEDS, [1, 2, 3, 4, 5], tmp_path)
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert {node for node, _, _ in cluster.asked} == {"a", "c"}
    assert {options["num_cpus"] for _, _, options in cluster.asked} == {4.0}, "nothing else of the cluster beside it"
    assert {options["num_gpus"] for _, _, options in cluster.asked} == {0}
    assert len(said) == 1 and "left out b" in said[0] and "kinds are never mixed" in said[0]


def test_a_resumed_campaign_stays_on_its_kind_even_if_there_are_more_of_another(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL, "b": LARGE, "c": SMALL})
    ran(executor(cluster), Needs("cpu", sound, hardware=LARGE), [2, 3], tmp_path)
    assert {node for node, _, _ in cluster.asked} == {"b"}
    with pytest.raises(EnvironmentMissing, match="another kind than a third"):
        ran(executor(Cluster({"a": SMALL})), Needs("cpu", sound, hardware=Hardware("a third", 1)), [2], tmp_path)


def test_on_gpus_a_launch_has_one_of_its_own(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL, "b": LARGE}, gpus={"b": 8.0})
    found, said = ran(executor(cluster), Needs("cuda", sound), [1, 2], tmp_path)
    assert sorted(found) == [1, 2]
    assert [(node, options["num_gpus"]) for node, _, options in cluster.asked] == [("b", 1), ("b", 1)]
    assert said == ["left out a (610000): it has no GPU that Ray knows of"]


@pytest.mark.parametrize(
    ("cluster", "needs", "says"),
    [
        (Cluster({}), NEEDS, "it has no machines"),
        (Cluster({"head": SMALL}, processors={"head": 0}), NEEDS, "it has no machines"),
        (Cluster({"a": SMALL}), Needs("cuda", sound), "it has no GPU"),
        (Cluster({"a": "gdnbench is not installed there"}), NEEDS, "gdnbench is not installed there"),
    ],
)
def test_a_cluster_that_will_not_do_is_one_line(executor: Any, tmp_path: Path, cluster: Any, needs: Any, says: str):
    with pytest.raises(EnvironmentMissing) as caught:
        ran(executor(cluster), needs, [1], tmp_path)
    assert says in str(caught.value) and "10.0.0.1:6379" in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_launch_that_is_lost_is_run_again_elsewhere_and_whole(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL, "b": SMALL}, dying={"b"})
    found, said = ran(executor(cluster), NEEDS, [1, 2, 3, 4], tmp_path)
    assert sorted(found) == [1, 2, 3, 4]
    (lost,) = [number for node, number, _ in cluster.asked if node == "b"]
    assert Counter(number for _, number, _ in cluster.asked) == {1: 1, 2: 1, 3: 1, 4: 1} | {lost: 2}
    assert said == [f"launch {lost} was lost with b (the node died): all of it is run again"]


def test_a_machine_that_comes_back_is_used_again(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL}, losing={"a": 2})
    found, said = ran(executor(cluster), NEEDS, [1, 2], tmp_path)
    assert found == [1, 2] and len(said) == 2


def test_a_launch_that_takes_every_machine_down_ends_the_campaign(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL}, losing={"a": 99})
    with pytest.raises(LaunchLost, match=r"launch 1 was lost with a .* for the third time") as caught:
        ran(executor(cluster), NEEDS, [1, 2], tmp_path)
    assert caught.value.exit_code == 4


def test_a_campaign_without_machines_waits_for_a_while(executor: Any, tmp_path: Path) -> None:
    cluster = Cluster({"a": SMALL}, dying={"a"})
    with pytest.raises(LaunchLost, match=r"no machine is left, and none came in 0\.1 s"):
        ran(executor(cluster, 0.1), NEEDS, [1, 2], tmp_path)


def test_what_a_launch_fails_with_comes_home_with_its_log(executor: Any, tmp_path: Path) -> None:
    with executor(Cluster({"a": SMALL})) as machines:
        machines.prepare(NEEDS, print)
        with pytest.raises(UserError, match="launch 1 died") as caught:
            list(machines.run(fail, [1], tmp_path))
    log = Path(str(caught.value).rpartition(" ")[2])
    assert log.is_relative_to(tmp_path) and log.read_text() == "what it wrote at last\n"


def test_launches_leave_nothing_and_clear_up_after_those_that_were_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site.tempfile, "gettempdir", lambda: str(tmp_path))
    dead, own = tmp_path / f"{site.PREFIX}999999999-x", tmp_path / f"{site.PREFIX}{os.getpid()}-x"
    dead.mkdir()
    own.mkdir()
    assert site.launch(measure, 7) == 7
    assert list(tmp_path.iterdir()) == [own]


def test_a_machine_with_other_code_or_files_is_refused(tmp_path: Path) -> None:
    model, absent = tmp_path / "model", tmp_path / "absent"
    model.mkdir()
    (model / "config.json").write_text("{}")

    def look(needs: Needs, digests: dict[Path, str | None], **code: str) -> str | None:
        return site.look({**own_code(), **code}, pickle.dumps((needs, digests))).refusal

    assert look(NEEDS, {model: contents(model)}) is None
    assert "it has torch" in str(look(NEEDS, {}, torch="1.0")) and "install the same" in str(
        look(NEEDS, {}, gdnbench="0" * 12)
    )
    assert f"{absent} is not there" in str(look(NEEDS, {absent: "0"}))
    before = contents(model)
    (model / "config.json").write_text("[]")
    assert "other contents" in str(look(NEEDS, {model: before}))
    assert "make vllm" in str(look(Needs("cpu", lacking), {}))


@pytest.mark.parametrize(
    ("gpus", "says"),
    [((), "cannot be told"), (("A10", "H200"), "several kinds of GPUs (A10, H200)"), (("H200",), None)],
)
def test_a_machine_whose_gpus_differ_is_refused_for_a_plan_on_gpus(
    gpus: tuple[str, ...], says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "hardware_here", lambda: Hardware("a processor", 2, gpus))
    refusal = site.look(own_code(), pickle.dumps((Needs("cuda", sound), {}))).refusal
    assert refusal is None if says is None else says in str(refusal)
    assert site.look(own_code(), pickle.dumps((NEEDS, {}))).refusal is None


def test_a_machine_without_the_project_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("gdnbench.campaign.executors.site")
    monkeypatch.setitem(sys.modules, "gdnbench.campaign.executors.site", None)
    assert "gdnbench is not installed there" in on_ray._look()({}, b"")


def test_contents_are_those_that_matter(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("1")
    first = contents(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("x")
    (tmp_path / "a.pyc").write_text("x")
    assert contents(tmp_path) == first
    (tmp_path / "more").write_text("x")
    assert contents(tmp_path) != first
    assert contents(tmp_path / "absent") is None


def test_gpus_are_known_without_waking_them(tmp_path: Path) -> None:
    for number, name in enumerate(("NVIDIA H200", "NVIDIA H200", "NVIDIA A10")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "information").write_text(f"Model: \t\t {name}\nIRQ:   \t\t 11\n")
    assert accelerators(tmp_path) == ("NVIDIA A10", "NVIDIA H200")
    assert accelerators(tmp_path / "absent") == ()


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--executor", "slurm"], 2, "there are local and ray"),
        (["--address", "10.0.0.1:6379"], 2, "add --executor ray"),
        (["--executor", "ray", "--address", "ray://10.0.0.1:10001"], 2, "HOST:PORT of a Ray cluster is needed"),
        (["--executor", "ray", "--address", "127.0.0.1:1"], 4, "no Ray cluster can be reached there"),
    ],
)
@pytest.mark.parametrize("command", ["step", "serve"])
def test_an_executor_that_cannot_be_had_is_one_line(
    command: str, options: list[str], code: int, says: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    assert exits.run(app, [command, "pr51913.before", "pr51913.after", *options]) == code
    told = capsys.readouterr()
    assert says in told.err and told.err.count("\n") == 1 and told.out == ""
    assert not list(tmp_path.rglob("plan.json")), "nothing is begun"


def test_what_listens_and_is_no_ray_is_one_line_in_good_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "ANSWER_S", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(EnvironmentMissing, match=r"nothing that is Ray has answered in 2 s"):
            reaching.reach(address)


def test_without_ray_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(reaching, "find_spec", lambda name: None)
    assert exits.run(app, ["step", "pr51913.before", "pr51913.after", "--executor", "ray"]) == 4
    assert "pip install 'gdnbench[ray]'" in capsys.readouterr().err


def test_ray_comes_in_through_one_package_alone() -> None:
    root = Path(gdnbench.__file__).parent
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if any(name.partition(".")[0] == "ray" for name in names):
            assert path.parent.name == "executors" and path.name in ("on_ray.py", "reaching.py")
            tops = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
            assert "ray" not in tops, "imported where it is used: a command without a cluster does without"
