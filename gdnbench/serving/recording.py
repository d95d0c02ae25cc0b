"""A server campaign in one file, to be kept, handed on and judged again: its plan and its launches, JSON under gzip."""

from __future__ import annotations

import gzip
import io
import json
import os
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.errors import EnvironmentMissing, UserError

SCHEMA = 1
MOST_BYTES = 256 << 20
"""Of a recording, unpacked; a launch of a hundred blocks has about 100 KB."""


def save(plan: ServePlan, launches: Sequence[ServeLaunch], path: Path) -> None:
    """Write a recording; what stands there already is left alone.

    Raises:
        UserError: something stands there.
        EnvironmentMissing: the disk refuses.
    """
    content = {"schema": SCHEMA, "plan": plan.to_json(), "launches": [launch.to_json() for launch in launches]}
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream:  # no time stamp: the same content, the same bytes
        stream.write(json.dumps(content, separators=(",", ":")).encode())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as aside:
            aside.write(packed.getvalue())
        try:
            Path(aside.name).chmod(0o644)
            os.link(aside.name, path)
        finally:
            Path(aside.name).unlink()
    except FileExistsError:
        raise UserError(f"{path} is there already: a recording is never overwritten") from None
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {path} ({error.strerror or error})") from None


def load(path: Path) -> tuple[ServePlan, tuple[ServeLaunch, ...]]:
    """The campaign that `save` wrote.

    Raises:
        UserError: there is none, or it is damaged, too large or of another version.
    """
    try:
        with gzip.open(path) as stream:
            text = stream.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise UserError(f"{path} unpacks to more than {MOST_BYTES >> 20} MiB: it is no recording of ours")
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise UserError(f"{path}: no recording of schema {SCHEMA}")
        return ServePlan.from_json(content["plan"]), tuple(ServeLaunch.from_json(one) for one in content["launches"])
    except FileNotFoundError:
        raise UserError(f"there is no recording {path}") from None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no recording of a server campaign ({error})") from None
