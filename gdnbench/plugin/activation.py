"""The entry point that vLLM calls in each of its processes, and what the harness gives a server for it to be found.

It does nothing unless the environment names its settings. Then it waits until vLLM's module of GDN builders is
imported, which only processes that build do, and patches there: `build` on the builder's own class (from 0.31.0 a
subclass loses the block-table update of further groups), and the worker's `execute_model`, which is a step.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gdnbench.plugin.control import Control
from gdnbench.plugin.late_import import when_imported
from gdnbench.plugin.settings import VARIABLE, PluginSettings
from gdnbench.values.errors import UserError

BUILDERS = "vllm.v1.attention.backends.gdn_attn"
GROUP = "vllm.general_plugins"
NAME = "gdnbench"
TARGET = "gdnbench.plugin.activation:activate"

_activated = False


def activate() -> None:
    """The entry point; a second call does nothing."""
    global _activated
    path = os.environ.get(VARIABLE)
    if not path or _activated:
        return
    _activated = True

    def patch_builders() -> None:
        from gdnbench.plugin.patching import patch

        patch(PluginSettings.read(Path(path)))

    when_imported(BUILDERS, patch_builders)


def entry_point_directory(into: Path) -> Path:
    """Makes a directory that, on PYTHONPATH, lets vLLM find the entry point without any installation; its path."""
    info = into / "gdnbench_plugin-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gdnbench-plugin\nVersion: 0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{NAME} = {TARGET}\n", encoding="utf-8")
    return into


def server_environment(
    directory: Path,
    control: Control,
    roles: Mapping[str, str],
    waits: Mapping[str, int] | None = None,
    *,
    base: Mapping[str, str],
    fault_at: int = 200,
    witness: Path | None = None,
) -> dict[str, str]:
    """What to set in the environment of a server so that the plugin is in it.

    Args:
        directory: where the plugin's settings and entry point are written.
        control: its control file.
        roles: how each role's side is spelled, or `original`; in the order of the control file.
        waits: by role, nanoseconds that each of its builds is made slower; whatever has a handicap must have one.
        base: the environment that the server has otherwise; of its PYTHONPATH nothing is lost.
        fault_at: the build of a KV group in which faults that end a server do so.
        witness: file for what `plugin.witness` sees; None to leave it out.

    Raises:
        UserError: `directory` cannot stand in a search path.
    """
    if tuple(roles) != control.roles:
        raise ValueError(f"the control file has the roles {control.roles}, not {tuple(roles)}")
    if os.pathsep in str(directory.absolute()):
        raise UserError(
            f"{directory.absolute()} has a {os.pathsep!r} in it, and no plugin is found there: name another"
        )
    settings = directory.absolute() / "plugin.json"
    watched = None if witness is None else str(witness.absolute())
    PluginSettings(str(control.path.absolute()), dict(roles), dict(waits or {}), fault_at, watched).write(settings)
    entry = entry_point_directory(directory.absolute() / "entry")
    paths = [str(entry), *filter(None, [base.get("PYTHONPATH")])]
    return {VARIABLE: str(settings), "VLLM_PLUGINS": NAME, "PYTHONPATH": os.pathsep.join(paths)}
