"""What real traces do to launches and nesting: each kind in several variants, numbers by hand."""

import numpy as np
import pytest

from tests.trace.making import Event, arrow, call, event, external, frame, ids, kernel, mark, names, only, op, opened
from tests.trace.test_build import check_arrays
from tracelens_tui.trace.navigate import call_stack, module_chain
from tracelens_tui.trace.types import Kind, Role

RUNTIME, DRIVER = "cuda_runtime", "cuda_driver"

LAUNCHES = [
    ("cudaLaunchKernel", RUNTIME),
    ("cudaLaunchKernelExC", RUNTIME),
    ("cudaLaunchCooperativeKernel", RUNTIME),
    ("cuLaunchKernel", DRIVER),
    ("cuLaunchKernelEx", DRIVER),
    ("cuLaunchCooperativeKernel", DRIVER),
    ("cuLaunchKernel", RUNTIME),  # as old profilers file it
    ("hipLaunchKernel", RUNTIME),
    ("hipModuleLaunchKernel", RUNTIME),
    ("hipExtModuleLaunchKernel", RUNTIME),
    ("hipExtLaunchKernel", RUNTIME),
    ("hipLaunchCooperativeKernel", RUNTIME),
    ("hipModuleLaunchCooperativeKernel", "hip_runtime"),
    ("cudaGraphLaunch", RUNTIME),
    ("hipGraphLaunch", RUNTIME),
    ("cudaMemcpyAsync", RUNTIME),
    ("hipMemcpyWithStream", RUNTIME),
    ("hipMemsetAsync", RUNTIME),
    ("cuMemcpyHtoDAsync_v2", DRIVER),
    ("urEnqueueKernelLaunch", "xpu_runtime"),
]


def arrows(number: int, at: float, on_gpu: float) -> list[Event]:
    return [arrow(number, at, finish=False, pid=1, tid=1), arrow(number, on_gpu, finish=True, pid=0, tid=7)]


@pytest.mark.parametrize("flows", [False, True], ids=["no arrows", "arrows"])
@pytest.mark.parametrize(("name", "cat"), LAUNCHES)
def test_every_launch_owns_its_work_and_stands_under_its_op(name: str, cat: str, flows: bool):
    """A query with the same correlation comes first; the op around the launch is the kernel's."""
    trace, tree = opened(
        op("aten::mm", 0, 20),
        call(9, 1, name="cuCtxGetCurrent", cat=DRIVER),
        call(9, 5, name=name, cat=cat),
        kernel(9, 30, 4),
        *(arrows(9, 5, 30) if flows else []),
    )
    check_arrays(trace, tree)
    assert names(trace, tree.ancestors(only(trace, "some_kernel"))) == [name, "aten::mm"]
    assert names(trace, [tree.op[only(trace, "some_kernel")]]) == ["aten::mm"]
    assert tree.gpu_ns[only(trace, "aten::mm")] == 4_000


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (("cudaLaunchKernel", RUNTIME), ("cuLaunchKernel", DRIVER)),
        (("cudaLaunchKernelExC", RUNTIME), ("cuLaunchKernelEx", DRIVER)),
        (("hipLaunchKernel", RUNTIME), ("hipModuleLaunchKernel", RUNTIME)),
    ],
)
def test_a_driver_call_inside_a_runtime_call_is_not_a_second_launch(outer: tuple[str, str], inner: tuple[str, str]):
    trace, tree = opened(
        op("aten::mm", 0, 20),
        call(9, 2, 10, name=outer[0], cat=outer[1]),
        call(9, 4, 5, name=inner[0], cat=inner[1]),
        kernel(9, 30, 4),
    )
    assert names(trace, tree.ancestors(only(trace, "some_kernel"))) == [inner[0], outer[0], "aten::mm"]
    assert (tree.gpu_count[only(trace, outer[0])], tree.gpu_count[only(trace, inner[0])]) == (1, 1)


def test_correlations_and_arrows_link_alike():
    """Arrows to host rows, arrows that are missing, arrows of other numbers: the correlation decides."""
    work = [e for i in range(1, 6) for e in (call(i, 10 * i), kernel(i, 100 + 10 * i, 4))]
    bare = opened(*work)[1]
    full = opened(*work, *(a for i in range(1, 6) for a in arrows(i, 10 * i, 100 + 10 * i)))[1]
    some = opened(*work, *arrows(2, 20, 120), arrow(4, 40, finish=True, pid=1, tid=1))[1]
    wrong = opened(*work, *arrows(3, 10, 150))[1]  # from another call, to another kernel
    for tree in (full, some, wrong):
        assert tree.launch.tolist() == bare.launch.tolist()
    assert bare.launch.tolist() == [-1, 0, -1, 2, -1, 4, -1, 6, -1, 8]


def test_arrows_between_ops_have_numbers_of_their_own():
    """An arrow from a forward op has the number of one from a launch, in a file that needs the latter."""
    between = [one | {"cat": "fwdbwd"} for one in (*arrows(5, 3, 3), arrow(5, 3, finish=True, pid=1, tid=1))]
    for extra in ([], between):
        trace, tree = opened(op("aten::mm", 0, 9), call(None, 3), kernel(None, 30, 4), *arrows(5, 3, 30), *extra)
        assert names(trace, tree.ancestors(only(trace, "some_kernel"))) == ["cudaLaunchKernel", "aten::mm"]


@pytest.mark.parametrize("shift", [0, 1], ids=["equal", "one off"])
def test_external_ids_that_look_like_correlations(shift: int):
    """Both numberings run over the same numbers; each kernel has the External id of another one's launch."""
    events: list[Event] = []
    for i in range(1, 8):
        events.append(op(f"aten::op{i}", 20 * i, 10, **external(i)))
        events.append(call(i, 20 * i + 2, **external((i + shift) % 8)))
        events.append(kernel(i, 200 + 10 * i, 2, name=f"k{i}", **external(i - 1)))
    trace, tree = opened(*events, kernel(None, 400, 5, name="stray", **external(3)))
    for i in range(1, 8):
        assert names(trace, [tree.op[only(trace, f"k{i}")]]) == [f"aten::op{i}"]
    assert tree.launch[only(trace, "stray")] == -1


@pytest.mark.parametrize(("name", "streams"), [("cudaGraphLaunch", 1), ("cudaGraphLaunch", 4), ("hipGraphLaunch", 2)])
def test_graph_launches_own_thousands_of_kernels(name: str, streams: int):
    """Two replays of one graph of 3,000 kernels; the first is still running when the second is launched."""
    count = 3_000
    events: list[Event] = [mark("ProfilerStep#1", 0, 100), frame("decode.py(3): step", 1, 90)]
    for replay in range(2):
        events.append(call(70 + replay, 10 + 30 * replay, 20, name=name))
        for i in range(count):
            start = 20 + replay * count * 2 + 2 * i
            events.append(kernel(70 + replay, start, 1 + replay, name=f"k{i % 7}", stream=7 + i % streams))
    trace, tree = opened(*events)
    first, second = ids(trace, name)
    assert (tree.gpu_count[first], tree.gpu_count[second]) == (count, count)
    assert (tree.gpu_ns[first], tree.gpu_ns[second]) == (count * 1_000, count * 2_000)
    assert tree.gpu_ns[only(trace, "ProfilerStep#1")] == count * 3_000
    starts = trace.events["start_ns"].to_numpy()[tree.children(first)]
    assert (np.diff(starts) > 0).all()
    assert (tree.op[np.flatnonzero(tree.launch >= 0)] == -1).all()


@pytest.mark.parametrize(
    ("name", "cat", "kind", "role"),
    [
        ("__amd_rocclr_copyBuffer.kd", "kernel", Kind.KERNEL, Role.COPY),
        ("__amd_rocclr_copyBufferAligned", "kernel", Kind.KERNEL, Role.COPY),
        ("__amd_rocclr_copyBufferRectAligned.kd", "kernel", Kind.KERNEL, Role.COPY),
        ("MEMORY_COPY_HOST_TO_DEVICE", "kernel", Kind.KERNEL, Role.COPY),
        ("CopyDeviceToHost", "gpu_memcpy", Kind.MEMCPY, Role.COPY),
        ("Memcpy PtoP (Device -> Device)", "gpu_memcpy", Kind.MEMCPY, Role.COPY),
        # a fill computes what it writes, as a set does: both count as computation
        ("__amd_rocclr_fillBufferAligned", "kernel", Kind.KERNEL, Role.COMPUTE),
        ("__amd_rocclr_fillBufferAligned.kd", "kernel", Kind.KERNEL, Role.COMPUTE),
        ("Memset (Device)", "gpu_memset", Kind.MEMSET, Role.COMPUTE),
        ("FillBuffer", "gpu_memset", Kind.MEMSET, Role.COMPUTE),
        ("void at::native::direct_copy_kernel_cuda()", "kernel", Kind.KERNEL, Role.COMPUTE),
    ],
)
def test_copies_and_fills_count_by_what_they_do_and_link_like_kernels(name: str, cat: str, kind: Kind, role: Role):
    trace, tree = opened(
        op("aten::copy_", 0, 9), call(4, 2, name="hipMemcpyAsync"), kernel(4, 20, 6, name=name, cat=cat)
    )
    row = trace.events.row(only(trace, name), named=True)
    assert (row["kind"], row["role"]) == (kind, role)
    assert names(trace, tree.ancestors(only(trace, name))) == ["hipMemcpyAsync", "aten::copy_"]
    assert tree.gpu_ns[only(trace, "aten::copy_")] == 6_000


# --------------------------------------------------------------------------------------------------- nesting


def paths(*events: Event) -> dict[str, list[str]]:
    """The ancestors of every event by name, the nearest first; nothing may be lost on the way."""
    trace, tree = opened(*events)
    check_arrays(trace, tree)
    return {names(trace, [e])[0]: names(trace, tree.ancestors(e)) for e in range(len(trace))}


WORK = (call(1, 6.5, 0.5, name="launch"), kernel(1, 90, 8, name="work"))


@pytest.mark.parametrize("swap", [False, True], ids=["outer first in the file", "inner first"])
@pytest.mark.parametrize(
    ("outer", "inner"),
    [((0, 10), (0, 10)), ((0, 10), (0, 7)), ((0, 10), (6, 4))],
    ids=["equal bounds", "equal starts", "equal ends"],
)
def test_equal_bounds(outer: tuple[int, int], inner: tuple[int, int], swap: bool):
    """Whatever the order in the file: frames around ops, longer around shorter, and no kernel lost."""
    pair = [frame("outer", *outer), op("inner", *inner)]
    found = paths(*(reversed(pair) if swap else pair), *WORK)
    assert found["work"] == ["launch", "inner", "outer"]


@pytest.mark.parametrize("bleed", [0.001, 0.5, 0.999])
def test_siblings_that_run_into_each_other_by_less_than_a_microsecond(bleed: float):
    """The clock's jitter makes no child: they stay siblings and each keeps its own work."""
    found = paths(
        op("parent", 0, 20),
        op("first", 1, 4 + bleed),
        op("second", 5, 6),
        *WORK,
        call(2, 2),
        kernel(2, 80, 1, name="w1"),
    )
    assert found["second"] == ["parent"]
    assert found["work"] == ["launch", "second", "parent"]
    assert found["w1"] == ["cudaLaunchKernel", "first", "parent"]


@pytest.mark.parametrize("beyond", [1, 3, 50])
def test_larger_overlaps_are_clipped_and_nothing_is_dropped(beyond: float):
    """It begins inside of one op and ends after it, even after the op around both: a child, its work counted once."""
    trace, tree = opened(
        op("parent", 0, 10), op("first", 1, 8), op("crossing", 4, 5 + beyond), *WORK, op("next", 70, 5), call(2, 71),
        kernel(2, 120, 2, name="w2"),
    )  # fmt: skip
    check_arrays(trace, tree)
    assert names(trace, tree.ancestors(only(trace, "crossing"))) == ["first", "parent"]
    assert names(trace, tree.ancestors(only(trace, "work")))[-2:] == ["first", "parent"]
    assert names(trace, tree.ancestors(only(trace, "w2"))) == ["cudaLaunchKernel", "next"]
    assert tree.gpu_ns[only(trace, "parent")] == 8_000
    assert int(tree.gpu_ns[tree.depth == 0].sum()) == 10_000


DEEP = 3_000


@pytest.mark.parametrize("ending", [-2, -1], ids=["one inside the other", "all end together"])
def test_deep_python_stacks(ending: float):
    """``ending`` -2: each frame ends 1 µs before the one around it; -1: all end at once."""
    trace, tree = opened(
        *(frame(f"f.py({i}): f{i}", i, 4 * DEEP + ending * i) for i in range(DEEP)),
        frame("nn.Module: Leaf_0", DEEP, 100),
        op("aten::mm", DEEP + 1, 50),
        call(1, DEEP + 2),
        kernel(1, 9 * DEEP, 7),
    )
    gpu = only(trace, "some_kernel")
    assert tree.depth[gpu] == DEEP + 3
    assert call_stack(trace, tree, gpu) == [f"f.py({i}): f{i}" for i in range(DEEP)]
    assert module_chain(trace, tree, gpu) == ["Leaf_0"]
    assert set(tree.gpu_ns[tree.ancestors(gpu)].tolist()) == {7_000}


def test_deep_stacks_side_by_side_and_on_two_threads():
    """Two stacks of 3,000 ops, one after the other, on each of two threads at the same time."""
    events: list[Event] = []
    for tid in (1, 2):
        for repeat in range(2):
            at = 10_000 * repeat
            events += [op(f"o{i}", at + i, 2 * DEEP - 2 * i + 1, tid=tid) for i in range(DEEP)]
            events += [
                call(10 * tid + repeat, at + DEEP, 0.5, tid=tid),
                kernel(10 * tid + repeat, 90_000 + 100 * tid + 10 * repeat, tid),
            ]
    trace, tree = opened(*events)
    gpu = ids(trace, "some_kernel")
    assert tree.depth[gpu].tolist() == [DEEP + 1] * 4
    assert names(trace, tree.op[gpu]) == [f"o{DEEP - 1}"] * 4
    assert sorted(tree.gpu_ns[ids(trace, "o0")].tolist()) == [1_000, 1_000, 2_000, 2_000]


def test_gpu_rows_and_other_categories_are_no_part_of_a_host_stack():
    found = paths(
        op("aten::mm", 0, 20),
        event("overhead", "Buffer Flush", 2, 10, 1, 1),
        event("cuda_sync", "Stream Sync", 2, 10, 1, 1),
        event("trace", "Iteration Start", 0, 50, 1, 1),
        call(1, 5, name="launch"),
        kernel(1, 30, 2, name="work"),
    )
    assert found["work"] == ["launch", "aten::mm"]
    assert found["aten::mm"] == found["Buffer Flush"] == found["Stream Sync"] == []
