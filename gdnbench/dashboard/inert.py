"""Data for scripts, harmless whatever it holds: texts of a history come from files that others wrote."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""What could end a script, begin a tag or a comment, or be taken for the end of a line."""

_KINDS = {"float64": "f8", "float32": "f4", "int32": "i4", "uint16": "u2", "uint8": "u1", "int8": "i1"}


def literal(value: Any) -> str:
    """A value of JSON's types as JavaScript that holds nothing but that value, in a script's file or inside a page."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def inside(value: Any) -> Markup:
    """The same for a template, to be put into a script element as it is."""
    return Markup(literal(value))


def script(name: str, value: Any) -> str:
    """The file that gives the scripts of a page a value: a page that was opened from disk may read no other file."""
    return f"(window.gdnbench??={{}})[{literal(name)}]={literal(value)};\n"


def packed(column: NDArray[Any]) -> Any:
    """A column of numbers: one number where all are the same, else its bytes in base 64, with their kind."""
    if column.dtype.kind == "f" and np.isnan(column).all():
        return None
    if np.isfinite(column[0]) and (column == column[0]).all():
        return column[0].item()
    little = column.astype(column.dtype.newbyteorder("<"), copy=False)
    return {"dtype": _KINDS[column.dtype.name], "bdata": base64.b64encode(little.tobytes()).decode("ascii")}
