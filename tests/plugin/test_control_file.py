"""The control file: what one side stores the other reads, whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.plugin import layout
from gdnbench.plugin.control import Control
from gdnbench.values.errors import UserError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def control(tmp_path):
    with Control.create(tmp_path / "control", ("before", "after", "control")) as control:
        yield control


def test_the_plugin_finds_the_roles_and_nothing_commanded(control):
    with Control.open(control.path) as other:
        assert other.roles == ("before", "after", "control")
        assert other.words[layout.COMMAND] & 0xFF == layout.NOBODY
        snapshot = other.snapshot()
    assert not snapshot.ready and snapshot.refusal is None and snapshot.facts == {}
    assert snapshot.process == snapshot.groups == snapshot.steps_begun == snapshot.compared == 0
    assert all(snapshot.coverage(role) == () for role in snapshot.roles)


@given(
    role=st.sampled_from(["before", "after", "control"]),
    block=st.integers(0, layout.MOST_BLOCKS - 1),
    observe=st.booleans(),
)
def test_a_command_is_one_word_that_says_it_all(role, block, observe):
    word = layout.command_word(("before", "after", "control").index(role), block, observe, compare=False)
    assert word < 1 << 64
    assert word >> layout.BLOCK_SHIFT == block
    assert ("before", "after", "control")[word & 0xFF] == role
    assert bool(word & layout.OBSERVE) == observe and not word & layout.COMPARE


def test_a_command_reaches_the_other_mapping(control):
    with Control.open(control.path) as plugin:
        control.command("after", 7)
        assert plugin.words[layout.COMMAND] == layout.command_word(1, 7, observe=True, compare=False)


def test_commands_that_make_no_sense_are_refused(control, tmp_path):
    with pytest.raises(ValueError, match="compared"):
        control.command("after", 1, compare=True)
    with pytest.raises(ValueError, match="block"):
        control.command("after", layout.MOST_BLOCKS)
    with pytest.raises(ValueError, match="block"):
        control.command("after", -1)
    with Control.create(tmp_path / "one", ("before",)) as one, pytest.raises(ValueError, match="compared"):
        one.command("before", 1, compare=True)


@pytest.mark.parametrize("roles", [(), ("a", "a"), tuple("abcdefghi"), ("x" * 2000,)])
def test_roles_are_few_and_different(roles, tmp_path):
    with pytest.raises(ValueError, match="roles"):
        Control.create(tmp_path / "control", roles)
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_one_line_and_stays(control):
    with Control.open(control.path) as plugin:
        plugin.refuse("pr51913.after does not\nfit:  é " + "x" * 9000)
        plugin.start(os.getpid())  # a second builder that fits does not undo it
    refusal = control.refusal()
    assert refusal is not None and refusal.startswith("pr51913.after does not fit: é xxx")
    assert len(refusal.encode()) <= layout.MESSAGE_SIZE
    assert not control.snapshot().ready


def test_facts_are_replaced_whole(control):
    with Control.open(control.path) as plugin:
        for graphs in ("NONE", "FULL_AND_PIECEWISE", "x"):
            plugin.tell({"graphs": graphs})
            assert control.facts() == {"graphs": graphs}
        plugin.start(4711)
        with pytest.raises(ValueError, match="do not fit"):
            plugin.tell({"graphs": "x" * layout.FACTS_SIZE})
    assert control.facts() == {"graphs": "x"}
    assert control.snapshot().ready and control.snapshot().process == 4711


@pytest.mark.parametrize("content", [b"", b"short", bytes(4096), b"<!DOCTYPE html>" * 99])
def test_a_file_that_is_something_else_is_named(content, tmp_path):
    path = tmp_path / "control"
    path.write_bytes(content)
    with pytest.raises(UserError, match="is no control file"):
        Control.open(path)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(self, content):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        Control.create(tmp_path / "control", ("before",))
    assert list(tmp_path.iterdir()) == []


def test_no_part_of_the_file_is_a_hole(control):
    """Storing to a hole ends a process by SIGBUS when the disk is full."""
    status = control.path.stat()
    assert status.st_blocks * 512 >= status.st_size == layout.file_size(3)


COUNTING = """
import sys, time
from pathlib import Path
from gdnbench.plugin import layout
from gdnbench.plugin.control import Control
control = Control.open(Path(sys.argv[1]))
for _ in range(5):
    control.words[layout.role_at(0) + layout.BEGUN] += 1
print("counted", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_counted_outlives_the_process(control, ending):
    process = subprocess.Popen(
        [sys.executable, "-c", COUNTING, str(control.path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "counted\n"
        process.send_signal(ending)
    assert process.returncode == -ending
    assert control.snapshot().steps_begun == 5
