"""What is said of the model, and what is left unknown."""

import pytest

from tests.triage.making import TENSILE, Tracing
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.run.manifest import UNKNOWN_MODEL
from tracelens_tui.triage.model_evidence import AttentionShape, LayerStack, ModelEvidence, ModuleCount, model_evidence
from tracelens_tui.triage.model_identification import identify


def of(trace, tmp_path):
    return identify(model_evidence(open_analysis_of(trace.write(tmp_path / "t.json"), use_cache=False)))


def test_the_outermost_module_that_is_no_wrapper_names_the_model(tmp_path):
    trace = Tracing(stacks=True)
    for number in range(3):
        start = trace.host_us
        trace.op("aten::mm", [[4096, 4096], [4096, 4096]], TENSILE, 100)
        trace.python(f"nn.Module: LlamaDecoderLayer_{number}", start - 0.1, trace.host_us - start)
    trace.python("nn.Module: LlamaForCausalLM_0", 990, 2000)
    trace.python("nn.Module: DistributedDataParallel_0", 980, 3000)
    info = of(trace, tmp_path)
    assert info.model == "LlamaForCausalLM"
    assert info.family == "Llama"
    assert info.scale == "3 LlamaDecoderLayer modules"  # no attention ran, so no width is claimed
    assert info.precision == "bf16 (100 % of modelled kernel time)"


def test_nothing_recorded_is_nothing_claimed():
    info = identify(ModelEvidence(modules=[], kernel_ms_by_precision={}, kernel_ms_by_category={"GEMM": 1.0}))
    assert {info.model, info.family, info.scale, info.precision, info.architecture} == {UNKNOWN_MODEL}
    assert info.parallelism == UNKNOWN_MODEL


def test_plain_layers_are_no_model(tmp_path):
    trace = Tracing(stacks=True)
    trace.op("aten::mm", [[4096, 4096], [4096, 4096]], TENSILE, 100)
    trace.python("nn.Module: Linear_0", 990, 1000)
    assert of(trace, tmp_path).model == UNKNOWN_MODEL


def test_architecture_by_the_ops_that_ran():
    def architecture(**times):
        return identify(ModelEvidence(modules=[], kernel_ms_by_precision={}, kernel_ms_by_category=times)).architecture

    assert architecture(SDPA_fwd=5.0, GEMM=5.0) == "Transformer"
    assert architecture(CONV_fwd=5.0, GEMM=5.0) == "Convolutional network"
    assert architecture(SDPA_fwd=5.0, CONV_fwd=5.0) == "Transformer with convolutions"
    assert architecture(SDPA_fwd=50.0, CONV_fwd=5.0) == "Transformer"


def evidence(**fields):
    times = fields.pop("times", {"SDPA_fwd": 5.0, "GEMM": 5.0})
    return ModelEvidence(modules=[], kernel_ms_by_precision={}, kernel_ms_by_category=times, **fields)


def test_width_is_the_side_that_most_weights_share():
    llama = evidence(
        gemm_ms=10.0,
        gemm_ms_by_side={4096: 9.5, 14336: 6.0, 1024: 1.0, 128256: 0.5},
        attention=AttentionShape(heads=32, kv_heads=8, head_size=128),
        layers=LayerStack(name="LlamaDecoderLayer", instances=32),
    )
    assert identify(llama).scale == (
        "32 LlamaDecoderLayer modules, hidden size 4096, 32 attention heads (8 for keys and values) of 128"
    )
    unclear = evidence(gemm_ms=10.0, gemm_ms_by_side={4096: 5.0, 14336: 3.0})
    assert identify(unclear).scale == UNKNOWN_MODEL
    tied = evidence(gemm_ms=10.0, gemm_ms_by_side={4096: 9.0, 14336: 9.0})
    assert identify(tied).scale == UNKNOWN_MODEL
    convolutional = evidence(times={"CONV_fwd": 5.0}, gemm_ms=10.0, gemm_ms_by_side={4096: 9.0})
    assert identify(convolutional).scale == UNKNOWN_MODEL


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({"training": True, "attention_calls": 10, "causal_calls": 10}, "training"),
        ({"attention_calls": 10, "causal_calls": 10}, "inference, prefill"),
        ({"attention_calls": 10, "causal_calls": 0}, "inference"),
        ({"attention_calls": 10, "one_query_calls": 9}, "inference, decode"),
        ({"attention_calls": 10, "one_query_calls": 5}, "inference, prefill and decode"),
        ({"times": {}}, UNKNOWN_MODEL),
    ],
)
def test_mode_by_backward_pass_and_attention(fields, mode):
    assert identify(evidence(**fields)).mode == mode


@pytest.mark.parametrize(
    ("kinds", "training", "told"),
    [
        ({"allreduce": 3}, True, "8 ranks (allreduce), as data parallelism does"),
        ({"allreduce": 3}, False, "8 ranks (allreduce), as tensor parallelism does"),
        (
            {"_allgather_base": 9, "_reduce_scatter_base": 3}, True,
            "8 ranks (_allgather_base, _reduce_scatter_base), as sharded data parallelism does",
        ),
        ({"all_to_allv": 9, "allreduce": 3}, True, "8 ranks (all_to_allv, allreduce), as expert parallelism does"),
        ({"send": 9, "recv": 3}, True, "8 ranks (send, recv), as pipeline parallelism does"),
        ({"sendrecv": 9, "allreduce": 3}, True, "8 ranks (sendrecv, allreduce)"),
        ({"unnamed": 1}, True, "8 ranks (unnamed)"),
        ({}, True, "8 ranks, no collective recorded"),
    ],
)  # fmt: skip
def test_parallelism_by_the_collectives(kinds, training, told):
    assert identify(evidence(collectives=kinds, training=training, world_size=8)).parallelism == told


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen2ForCausalLM", "Qwen2"),
        ("BertLMHeadModel", "Bert"),
        ("SD3Transformer2DModel", "SD3"),
        ("ResNet", "ResNet"),
        ("MyModel", UNKNOWN_MODEL),
        ("Net", UNKNOWN_MODEL),
    ],
)
def test_family_is_the_stem_of_a_library_class(model, family):
    module = ModuleCount(name=model, instances=1, gpu_ms=1.0, outermost=True)
    found = identify(ModelEvidence(modules=[module], kernel_ms_by_precision={}, kernel_ms_by_category={}))
    assert found.family == family


def test_shapes_and_layers_of_a_real_decoder(shared):
    """By the model's own configuration: 24 layers of width 1024 with 16 heads, a prefill of 16 sequences of 559."""
    analysis = open_analysis_of(shared / "traces" / "mi300_qwen.json.gz", use_cache=False)
    info = identify(model_evidence(analysis))
    assert info.scale == "24 Qwen2DecoderLayer modules, hidden size 1024, 16 attention heads of 64"
    assert (info.family, info.mode) == ("Qwen2", "inference, prefill")
