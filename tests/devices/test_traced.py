"""The traced accelerator: right values, exact counts, and the refusals of CUDA."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.devices.base import CpuDevice
from gdnbench.devices.operations import BLOCKING, Costs, Operation
from gdnbench.devices.programs import PROGRAMS, Operands
from gdnbench.devices.traced import TracedDevice


@pytest.fixture(params=[True, False], ids=["inference", "normal"])
def device(request):
    device = TracedDevice()
    with torch.inference_mode(request.param), device.active():
        yield device


def trace(device, run):
    """The costs and operations of `run`, called without arguments."""
    with device.record() as recorded:
        run()
    return recorded


def kinds(recorded):
    return [operation.kind for operation in recorded.operations]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_costs_what_its_table_says(device, program):
    operands = Operands(device)
    recorded = trace(device, lambda: program.run(operands))
    costs = recorded.costs().as_dict()
    assert {name: costs[name] for name in program.counts} == program.counts, "\n".join(map(str, recorded.operations))


def operations_of(device, program):
    operands = Operands(device)
    return trace(device, lambda: program.run(operands)).operations


@pytest.fixture(scope="module")
def blocking():
    """The names of all operations that block in some program."""
    device = TracedDevice()
    with device.active():
        return {one.name for program in PROGRAMS for one in operations_of(device, program) if one.blocks}


@pytest.mark.parametrize("name", BLOCKING)
def test_each_entry_of_the_blocking_table_blocks_in_some_program(blocking, name):
    assert name in blocking


def test_programs_give_the_same_operations_each_time(device):
    first, second = ([operations_of(device, program) for program in PROGRAMS] for _ in range(2))
    assert first == second


X = torch.tensor([[3, -1, 4, 1], [5, 9, -2, 6]])
MASK = X > 2
POSITIONS = torch.tensor([1, 0, 1])

VALUES = {
    "arithmetic": lambda x, m, p: ((x + 1) * 2 - x) // 3 % 5,
    "reversed": lambda x, m, p: 10 - x,
    "division": lambda x, m, p: x / 4,
    "power": lambda x, m, p: x**2,
    "negative": lambda x, m, p: -x,
    "absolute": lambda x, m, p: abs(x),
    "compare": lambda x, m, p: (x >= 2) & (x != 4) | ~m ^ (x < 0),
    "in place": lambda x, m, p: x.add_(1).mul_(2).sub_(x),
    "augmented": lambda x, m, p: augmented(x),
    "clamp": lambda x, m, p: x.clamp(min=0, max=4),
    "where": lambda x, m, p: torch.where(m, x, -1),
    "where both": lambda x, m, p: torch.where(m, x, x * 2),
    "masked_fill": lambda x, m, p: x.masked_fill(m, 0),
    "sum": lambda x, m, p: x.sum(dim=1),
    "reductions": lambda x, m, p: [x.sum(), x.max(), x.min(), x.prod(), x.float().mean(), m.any(), m.all()],
    "max of a dimension": lambda x, m, p: x.max(dim=1),
    "argmax": lambda x, m, p: m.int().argmax(dim=-1),
    "cumsum": lambda x, m, p: torch.cumsum(x, dim=1),
    "cumsum, out": lambda x, m, p: torch.cumsum(x[0], dim=0, out=x[1]),
    "sort": lambda x, m, p: x.sort(),
    "argsort": lambda x, m, p: torch.argsort(m, dim=1, stable=True),
    "topk": lambda x, m, p: x.topk(2),
    "gather": lambda x, m, p: torch.gather(x, 0, m.long()),
    "scatter": lambda x, m, p: x.scatter(0, m.long(), x),
    "index_select": lambda x, m, p: x.index_select(0, p),
    "searchsorted": lambda x, m, p: torch.searchsorted(x[0].sort()[0], x),
    "positions": lambda x, m, p: x[p],
    "positions in both dimensions": lambda x, m, p: x[p, p + 1],
    "mask": lambda x, m, p: x[m],
    "mask of rows": lambda x, m, p: x[m[:, 0], 1:],
    "list": lambda x, m, p: x[:, [0, 2]],
    "numbers and slices": lambda x, m, p: [x[0], x[-1, 2], x[:, ::2], x[..., None, 1], x[None]],
    "transpose": lambda x, m, p: x.t().contiguous(),
    "reshape": lambda x, m, p: x.t().reshape(4, 2),
    "view": lambda x, m, p: x.view(-1).view(4, 2),
    "expand": lambda x, m, p: x[:, :1].expand(2, 3),
    "repeat": lambda x, m, p: x.repeat(2, 1),
    "flip and roll": lambda x, m, p: x.flip(0).roll(1, 1),
    "squeeze": lambda x, m, p: x[None].squeeze(0).unsqueeze(1),
    "cat and stack": lambda x, m, p: torch.stack([torch.cat([x, x]), torch.cat([x, x])]),
    "split and chunk": lambda x, m, p: [*x.split(3, dim=1), *x.chunk(2, dim=1), *x.unbind()],
    "pad": lambda x, m, p: torch.nn.functional.pad(x, (1, 2), value=7),
    "diff": lambda x, m, p: torch.diff(x),
    "repeat_interleave": lambda x, m, p: torch.repeat_interleave(x[0], x[0].abs()),
    "repeat_interleave with a size": lambda x, m, p: torch.repeat_interleave(x[0], x[0].abs(), output_size=9),
    "repeat_interleave by a number": lambda x, m, p: x.repeat_interleave(2, dim=1),
    "nonzero": lambda x, m, p: m.nonzero(),
    "where of a condition": lambda x, m, p: torch.where(m),
    "masked_select": lambda x, m, p: x.masked_select(m),
    "unique": lambda x, m, p: torch.unique(x, return_counts=True),
    "bincount": lambda x, m, p: torch.bincount(x[0].abs()),
    "dtypes": lambda x, m, p: [x.int(), x.float(), x.bool(), x.to(torch.int16), x.type(torch.float64)],
    "like": lambda x, m, p: [torch.zeros_like(x), torch.ones_like(x, dtype=torch.bool), torch.full_like(x, 3)],
    "new": lambda x, m, p: [x.new_zeros(3), x.new_full((2,), 7), x.new_ones(2), x.new_tensor([1, 2])],
    "factories": lambda x, m, p: [
        torch.zeros(2, device=x.device),
        torch.full((2,), 5, device=x.device),
        torch.arange(2, 9, 3, device=x.device),
        torch.ones(2, dtype=torch.bool, device=x.device),
        torch.tensor([1.5, 2.5], device=x.device),
        torch.as_tensor(np.array([4, 5]), device=x.device),
        torch.eye(2, device=x.device),
    ],
    "fill": lambda x, m, p: x[:, 1:3].fill_(x[0, 0]),
    "copy": lambda x, m, p: torch.zeros_like(x).copy_(x),
    "copy into a slice": lambda x, m, p: filled(torch.zeros(5, device=x.device), x),
    "clone": lambda x, m, p: [x.clone(), x.detach(), copy.deepcopy(x)],
    "matmul": lambda x, m, p: x.float() @ x.float().t(),
    "iteration": lambda x, m, p: [row.sum() for row in x],
    "python values": lambda x, m, p: [int(x[0, 0]), float(x[0, 1]), bool(m[0, 0]), x.tolist(), len(x), 5 in x],
}


def augmented(x):
    x += 1
    x *= x
    return x


def filled(buffer, x):
    buffer[1:4].copy_(x[0, :3])
    return buffer


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_a_cpu(device, name):
    expected, got = [], []
    for on, leaves in ((CpuDevice(), expected), (device, got)):
        operands = [on.put(tensor) for tensor in (X, MASK, POSITIONS)]
        result = VALUES[name](*operands)
        for leaf in torch.utils._pytree.tree_leaves([result, operands]):
            if isinstance(leaf, torch.Tensor):
                assert leaf.device == on.torch_device
                leaves.append((leaf.dtype, leaf.shape, leaf.stride(), on.get(leaf).tolist()))
            else:
                leaves.append((type(leaf), leaf))
    assert got == expected


def subscripts(length):
    numbers = st.integers(-length, length - 1)
    bounds = st.none() | st.integers(-length - 1, length + 1)
    slices = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 3))
    masks = st.lists(st.booleans(), min_size=length, max_size=length).map(torch.tensor)
    positions = st.lists(numbers, max_size=5).map(lambda at: torch.tensor(at, dtype=torch.int64))
    return numbers | slices | masks | positions | st.just(None) | st.just(...)


@given(st.tuples(subscripts(3), subscripts(4)), st.booleans(), st.integers(-9, 9))
def test_any_subscript_reads_and_writes_as_on_a_cpu(subscript, indices_on_device, value):
    if sum(part is ... for part in subscript) > 1:
        return
    results = []
    for on in (CpuDevice(), TracedDevice()):
        with on.active():
            x = on.put(torch.arange(12).view(3, 4))
            moves = indices_on_device and on.name == "traced"
            index = tuple(on.put(part) if moves and isinstance(part, torch.Tensor) else part for part in subscript)
            try:
                read = on.get(x[index]).tolist()
                x[index] = value
            except (IndexError, RuntimeError) as error:
                results.append(type(error))
            else:
                results.append((read, on.get(x).tolist()))
    assert results[0] == results[1]


def test_nothing_is_recorded_outside_a_recording_and_placing_never_is(device):
    x = device.put(X)
    x.sum().item()
    with device.record() as recorded:
        placed = device.get(device.put(X))
    x.sum().item()
    assert torch.equal(placed, X)
    assert recorded.operations == ()


def test_what_is_read_back_does_not_follow_later_writes(device):
    x = device.put(X)
    seen = device.get(x)
    x.fill_(0)
    assert torch.equal(seen, X)


def test_a_recording_is_made_outside_of_active_code_too():
    device = TracedDevice()
    with device.record() as recorded:
        torch.zeros(3, device="cuda").sum().item()
    assert recorded.costs() == Costs(device_ops=2, d2h=1, syncs=1, alloc_bytes=16)


def test_recordings_do_not_nest(device):
    with device.record(), pytest.raises(RuntimeError, match="under way"), device.record():
        pass


def test_torch_is_left_as_it_was():
    before = torch.cuda._lazy_init, torch.cuda.synchronize, torch.from_numpy
    with pytest.raises(ZeroDivisionError), TracedDevice().active():
        raise ZeroDivisionError
    assert (torch.cuda._lazy_init, torch.cuda.synchronize, torch.from_numpy) == before


def test_an_item_more_is_a_sync_more(device):
    def step(x):
        return x[x.argsort()] + 1

    def faulty(x):
        return x[x.argsort()] + x[0].item() - x[0].item() + 1

    x = device.put(torch.tensor([2, 0, 1]))
    sound, wrong = (trace(device, lambda run=run: run(x)).costs() for run in (step, faulty))
    assert (sound.syncs, wrong.syncs) == (0, 2)


def test_an_explicit_wait_is_a_sync(device):
    assert trace(device, torch.cuda.synchronize).costs() == Costs(syncs=1)


def test_each_operation_says_what_it_is(device):
    x, host = device.put(torch.zeros(4, dtype=torch.int32)), torch.zeros(2).pin_memory()
    recorded = trace(device, lambda: (x[1:] >= 2, torch.empty(8, device="cuda"), host.to("cuda", non_blocking=True)))
    assert recorded.operations == (
        Operation("view", "aten.slice.Tensor", ("cuda int32[4]",)),
        Operation("device", "aten.ge.Scalar", ("cuda int32[3]",), alloc_bytes=3),
        Operation("alloc", "aten.empty.memory_format", (), alloc_bytes=32),
        Operation("h2d_pinned", "aten._to_copy.default", ("cuda float32[2]", "pinned float32[2]"), alloc_bytes=8),
    )
    assert recorded.operations[1].signature == ("device", "aten.ge.Scalar", ("cuda int32[3]",), False)
    assert str(recorded.operations[1]) == "device       aten.ge.Scalar(cuda int32[3])"


def test_host_work_is_counted_apart_from_views_and_from_the_device(device):
    host = torch.arange(4)
    recorded = trace(device, lambda: (host[1:], (host >= 2).sum().item()))
    assert kinds(recorded) == ["host_view", "host", "host", "host"]
    assert recorded.costs() == Costs(host_ops=3)


def test_composite_operations_are_taken_apart_on_the_host_as_on_the_device(device):
    names = []
    for on in (CpuDevice(), device):
        x = on.put(X)
        names.append([one.name for one in trace(device, lambda x=x: torch.diff(x)).operations])
    assert names[0] == names[1] == ["aten.slice.Tensor", "aten.slice.Tensor", "aten.sub.Tensor"]


def test_pinned_memory_is_remembered_through_views_copies_and_arrays(device):
    host = torch.arange(6)
    pinned = host.pin_memory()
    assert not host.is_pinned()
    assert pinned.is_pinned() and torch.equal(pinned, host)
    assert pinned.pin_memory().data_ptr() == pinned.data_ptr()
    assert pinned[2:].view(2, 2).t().is_pinned()
    assert torch.from_numpy(pinned.numpy()[1:]).is_pinned()
    assert torch.as_tensor(pinned.numpy()).is_pinned()
    assert torch.from_numpy(np.arange(3)).pin_memory().is_pinned()
    assert not pinned.clone().is_pinned()
    assert not torch.from_numpy(np.arange(3)).is_pinned()
    pinned.numpy()[0] = 9
    assert pinned[0] == 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(3, pin_memory=True),
        lambda: torch.zeros(3, dtype=torch.int32, pin_memory=True),
        lambda: torch.full((3,), 1, pin_memory=True),
        lambda: torch.arange(3, pin_memory=True),
        lambda: torch.tensor([1, 2], pin_memory=True),
        lambda: torch.empty_like(torch.zeros(3), pin_memory=True),
        lambda: torch.zeros(3).new_empty(2, pin_memory=True),
    ],
)
def test_memory_is_made_pinned(device, make):
    assert make().is_pinned()
    assert make().device.type == "cpu"


def test_memory_used_again_is_not_pinned(device):
    for _ in range(20):
        assert torch.zeros(1 << 16, pin_memory=True).is_pinned()
        assert not torch.zeros(1 << 16).is_pinned()


def test_a_device_tensor_is_not_pinned_and_cannot_be(device):
    x = device.put(X)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match="pinned"):
        x.pin_memory()


def test_it_looks_like_a_device_tensor(device):
    x = device.put(X)
    assert x.device == torch.device("cuda:0") and x.is_cuda and x.get_device() == 0
    assert (x.shape, x.dtype, x.stride(), x.numel()) == (X.shape, X.dtype, X.stride(), X.numel())
    assert x[1].data_ptr() - x.data_ptr() == 4 * 8
    assert x.to("cuda") is x and x.cuda() is x and x.contiguous() is x
    assert repr(x).startswith("traced(tensor(")


def test_numpy_is_refused_as_by_cuda(device):
    x = device.put(X)
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
        x.numpy()
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
        np.asarray(x)
    assert (x.numpy(force=True) == X.numpy()).all()


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, h: x + h,
        lambda x, h: torch.cat([x, h]),
        lambda x, h: torch.gather(x, 0, h),
        lambda x, h: torch.cumsum(x, 0, out=h),
        lambda x, h: h[x],
        lambda x, h: x.index_put_((x,), h),
    ],
)
def test_tensors_on_two_devices_are_refused_as_by_cuda(device, mix):
    host = torch.tensor([0, 1, 2])
    with pytest.raises(RuntimeError, match="device"):
        mix(device.put(host), host)


def test_a_change_of_shape_in_place_is_refused(device):
    with pytest.raises(NotImplementedError, match="shape in place"):
        torch.cumsum(device.put(X[0]), 0, out=torch.empty(0, dtype=torch.int64, device="cuda"))


def test_tensors_made_of_device_scalars_read_each_of_them(device):
    x = device.put(X)
    recorded = trace(device, lambda: torch.tensor([x[0, 0], x[0, 2]]))
    assert recorded.costs() == Costs(d2h=2, syncs=2)
