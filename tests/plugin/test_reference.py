"""Our builders in the place of a release's: what they need, and how a release that lacks it is refused."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from gdn_impl.batch import CommonMetadata
from gdn_impl.builder import BuilderConfig, GraphBuffers
from gdn_impl.metadata import GDNMetadata
from gdn_impl.pr52078 import After
from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.gdn import BuildDriver
from gdnbench.plugin.comparison import same
from gdnbench.plugin.reference import BUFFERS, Reference, left_at_default, misfits
from gdnbench.values.errors import UserError
from gdnbench.values.scenarios import parse as scenario
from gdnbench.values.variants import parse

CPU = torch.device("cpu")


class BuildDriver52078(BuildDriver):
    change = 52078


def release_class(without=(), more=(), **options):
    """A metadata class as releases have them."""
    fields = [
        (field.name, field.type, dataclasses.field(default=field.default))
        for field in dataclasses.fields(GDNMetadata)
        if field.name not in without
    ]
    return dataclasses.make_dataclass("GDNAttentionMetadata", [*more, *fields], **options)


def batch_class(without=()):
    """A batch class as releases have them."""
    kept = [field.name for field in dataclasses.fields(CommonMetadata) if field.name not in without]
    methods = {name: getattr(CommonMetadata, name) for name in ("compute_num_computed_tokens", "replace")}
    methods = {name: method for name, method in methods.items() if name not in without}
    return dataclasses.make_dataclass("CommonAttentionMetadata", kept, namespace=methods)


def vllm_builder(speculation=0, staged=False, rows=16, **changed):
    """What our builders read of vLLM's."""
    buffers = GraphBuffers(rows, speculation, CPU)
    values = {
        "num_spec": speculation,
        "use_full_cuda_graph": staged,
        "gdn_prefill_backend": "triton",
        "vllm_config": SimpleNamespace(cache_config=SimpleNamespace(mamba_cache_mode="none")),
        **{theirs: getattr(buffers, ours) for ours, theirs in BUFFERS.items()},
    }
    return SimpleNamespace(**{**values, **changed})


FITTING = {"builder": vllm_builder(), "metadata_class": release_class(), "common_class": batch_class()}


@pytest.mark.parametrize("number", [51913, 52078, 55404, 51565])
@pytest.mark.parametrize("side", ["before", "after"])
def test_every_gdn_change_fits_a_release_with_its_fields(number, side):
    assert misfits(parse(f"pr{number}.{side}"), **FITTING) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"metadata_class": release_class(without=("batch_ptr", "chunk_offsets"))},
            "its metadata lacks batch_ptr, chunk_offsets",
        ),
        ({"metadata_class": release_class(more=[("checkpoint", int)])}, "requires what ours lacks: checkpoint"),
        ({"common_class": batch_class(without=("is_prefilling", "replace"))}, "its batch lacks is_prefilling, replace"),
        ({"builder": SimpleNamespace(num_spec=0)}, "its builder lacks decode_cudagraph_max_bs, gdn_prefill_backend"),
        (
            {
                "builder": vllm_builder(
                    vllm_config=SimpleNamespace(cache_config=SimpleNamespace(mamba_cache_mode="align"))
                )
            },
            "mamba cache mode is align",
        ),
        ({"builder": vllm_builder(gdn_prefill_backend="cutedsl")}, "GDN prefill backend is cutedsl"),
        ({"builder": vllm_builder(speculation=2, supports_update_block_table=True)}, "spec_sequence_masks_cpu"),
        ({"builder": vllm_builder(speculation=0, supports_update_block_table=True)}, None),
        ({"metadata_class": release_class(slots=True)}, "of another make"),
    ],
)
def test_what_does_not_fit_is_listed(changed, says):
    reasons = misfits(parse("pr52078.after"), **{**FITTING, **changed})
    assert reasons == [] if says is None else says in "; ".join(reasons)
    if says is not None:
        with pytest.raises(UserError, match=r"pr52078\.after does not fit this server: ") as caught:
            Reference(parse("pr52078.after"), **{**FITTING, **changed})
        assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variant", "says"), [("pr40654.after", "nothing reads the bound"), ("pr41873.before", "Mamba")]
)
def test_changes_without_a_builder_in_a_gdn_server_are_refused_with_the_catalogues_reason(variant, says):
    (reason,) = misfits(parse(variant), **FITTING)
    assert says in reason


def test_fields_that_only_the_release_has_stay_at_their_default():
    more = [("checkpoint", object, dataclasses.field(default=None)), ("length", int, dataclasses.field(default=7))]
    fields = [(f.name, f.type, dataclasses.field(default=f.default)) for f in dataclasses.fields(GDNMetadata)]
    required = [one for one in fields if one[2].default is dataclasses.MISSING]
    theirs = dataclasses.make_dataclass("Theirs", [*required, *more, *fields[len(required) :]])
    assert left_at_default(theirs) == ["checkpoint", "length"]
    driver = BuildDriver52078("after", scenario("4q1s64"), CpuDevice())
    inputs = driver.inputs()
    reference = Reference(parse("pr52078.after"), vllm_builder(), theirs, batch_class())
    metadata = reference.build(0, inputs.groups[0])
    assert type(metadata) is theirs
    assert (metadata.checkpoint, metadata.length, metadata.num_decodes) == (None, 7, 4)
    assert dataclasses.replace(metadata, num_decodes=5).length == 7


@pytest.mark.parametrize("spec", ["16q1s1k", "13q1s1k_3pad", "15q1s1k_q2k", "16q9s1kd8", "8q9s1kd8_6q1s1k_2q128"])
def test_it_builds_what_our_builder_builds_into_the_buffers_of_vllm(spec):
    step = scenario(spec)
    driver = BuildDriver52078("after", step, CpuDevice())
    builder = vllm_builder(step.speculation, staged=step.staged, rows=64 * (step.speculation + 1))
    ours = After(BuilderConfig(step.speculation, step.staged), CPU)
    reference = Reference(parse("pr52078.after"), builder, release_class(), batch_class())
    with torch.inference_mode():
        first, second = driver.inputs(), driver.inputs()
        expected = ours.build(0, first.groups[0], first.accepted, first.drafts)
        metadata = reference.build(0, second.groups[0], second.accepted, second.drafts)
    for field in dataclasses.fields(GDNMetadata):
        assert same(getattr(metadata, field.name), getattr(expected, field.name)), field.name
    staged = metadata.non_spec_state_indices_tensor if metadata.num_decodes else metadata.spec_state_indices_tensor
    buffers = (builder.non_spec_state_indices_tensor, builder.spec_state_indices_tensor)
    lent = any(staged.data_ptr() == buffer.data_ptr() for buffer in buffers)
    assert lent == (metadata.num_prefills == 0)
