"""What is said of the model, and what is left unknown."""

from tests.triage.making import TENSILE, Tracing
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.run.manifest import UNKNOWN_MODEL
from tracelens_tui.triage.model_identification import ModelEvidence, identify, model_evidence


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
    assert info.scale == "3 LlamaDecoderLayer modules"
    assert info.precision == "bf16 (100 % of modelled kernel time)"


def test_nothing_recorded_is_nothing_claimed():
    info = identify(ModelEvidence(modules=[], kernel_ms_by_precision={}, kernel_ms_by_category={"GEMM": 1.0}))
    assert {info.model, info.scale, info.precision, info.architecture} == {UNKNOWN_MODEL}


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
