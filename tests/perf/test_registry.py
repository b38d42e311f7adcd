from tests.perf.calling import FP32, args
from tracelens_tui.perf.categories import op_category
from tracelens_tui.perf.registry import Registry, cost_of, default_registry
from tracelens_tui.perf.types import OpCost, OpModel


def _free(_args):
    return OpCost(flops=0, bytes_read=0, bytes_written=0, unit="vector", precision=None)


OWN = OpModel(("aten::mm", "mine::op"), "Mine", "GEMM", _free)


def test_an_extended_registry_prefers_its_own_models_and_leaves_the_first_alone():
    mm = args("aten::mm", [[2, 2], [2, 2]], FP32)
    extended = default_registry().extended([OWN])
    own = cost_of(mm, extended)
    built_in = cost_of(mm)
    assert own is not None
    assert own.flops == 0
    assert built_in is not None
    assert built_in.flops == 16
    assert "mine::op" in extended.names
    assert "mine::op" not in default_registry().names


def test_extending_twice_keeps_the_first_extension():
    again = default_registry().extended([OWN]).extended([OpModel(("other::op",), "Mine", "reduce", _free)])
    assert again.model("aten::mm") is OWN
    assert op_category("other::op", registry=again) == "reduce"
    assert op_category("other::op") == "other"


def test_the_number_behind_a_name_of_sglang_is_no_part_of_it():
    name = "sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale"
    assert default_registry().model(f"{name}_17") is default_registry().model(name)
    assert op_category(f"{name}_17") == "GEMM"
    assert default_registry().model("aten::mm_17") is None


def test_an_empty_registry_models_nothing():
    assert Registry([]).cost_of(args("aten::mm", [[2, 2], [2, 2]], FP32)) is None
