"""Operations that a release does otherwise for reasons foreign to the catalogued changes, told as rewriting rules.

A rule looks at the head of a trace. Where it recognises what is foreign it says how many operations that is, and which
operations stood there in the release that our builders follow (0.28.0 and 0.29.0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gdnbench.devices.operations import Operation

Rule = Callable[[Sequence[Operation]], tuple[int, list[Operation]] | None]

LONGEST = 6
"""Operations that a rule may look at."""


def rewritten(operations: Sequence[Operation], rules: Sequence[Rule]) -> list[Operation]:
    """The trace with every rule applied wherever it fits, from front to back; what no rule touches stays as it is."""
    result: list[Operation] = []
    place = 0
    while place < len(operations):
        head = operations[place : place + LONGEST]
        found = next((match for rule in rules if (match := rule(head)) is not None), None)
        if found is None:
            result.append(operations[place])
            place += 1
        else:
            taken, instead = found
            result += instead
            place += taken
    return result


def _names(head: Sequence[Operation], *names: str) -> bool:
    return [(operation.kind, operation.name) for operation in head[: len(names)]] == [
        ("host_view" if name == "select.int" else "host", f"aten.{name}") for name in names
    ]


def zero_from_a_list(head: Sequence[Operation]) -> tuple[int, list[Operation]] | None:
    """0.27.0 makes the zero in front of the chunk offsets from a Python list; 0.28.0 asks for a zero."""
    if not _names(head, "floor_divide.default", "neg.default", "cat.default"):
        return None
    zero, counts = head[2].tensors[:2]
    if not zero.endswith("int32[1]"):
        return None
    rows = int(counts.removeprefix("host int32[").removesuffix("]"))
    zeros = Operation("host", "aten.new_zeros.default", (f"host int32[{rows + 1}]",))
    return 3, [zeros, *head[:3]]


def staged_copy(head: Sequence[Operation]) -> tuple[int, list[Operation]] | None:
    """0.30.0 and newer copy host values into a new pinned tensor; before, they were pinned where they lay."""
    if not _names(head, "empty.memory_format", "copy_.default"):
        return None
    pinned, host = head[1].tensors
    if not pinned.startswith("pinned "):
        return None
    pin = _pin(pinned)
    convert = Operation("host", "aten._to_copy.default", (*pin.tensors, host))
    # The copy to the device goes along, so that `kept_pinned` does not take it for one that nothing was pinned for.
    return 3, [*([] if pin.tensors == (host,) else [convert]), pin, head[2]]


def kept_pinned(head: Sequence[Operation]) -> tuple[int, list[Operation]] | None:
    """0.30.0 and newer remember chunk indices pinned; before, each further KV group pinned them anew."""
    copy = head[0]
    if copy.kind != "h2d_pinned" or not copy.tensors[0].startswith("cuda int32[") or ", 2]" not in copy.tensors[0]:
        return None
    return 1, [_pin(copy.tensors[1]), copy]


def _pin(pinned: str) -> Operation:
    return Operation("host", "aten._pin_memory.default", ("host " + pinned.removeprefix("pinned "),))


def uniform_length(head: Sequence[Operation]) -> tuple[int, list[Operation]] | None:
    """0.31.0 and newer find out on the host whether all rows with drafts are of one length."""
    names = ("index.Tensor", "select.int", "_local_scalar_dense.default", "eq.Scalar", "all.default")
    return (6, []) if _names(head, *names, "_local_scalar_dense.default") else None


RULES: dict[str, tuple[Rule, ...]] = {
    "0.27.0": (zero_from_a_list,),
    "0.30.0": (staged_copy, kept_pinned),
    "0.31.0": (staged_copy, kept_pinned, uniform_length),
    "0.32.0": (staged_copy, kept_pinned, uniform_length),
}
