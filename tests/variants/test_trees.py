"""Trees and links: intervals that cross, calls that cannot be told by their number, deep stacks.  Values by hand."""

import gzip

import pytest

from tests.ingest.making import Event, event, text
from tests.variants.making import analysis, codes, copy, document, info, kernel, launch, op, split
from tracelens_tui.analysis.model import Analysis


def frame(name: str, ts, dur, tid: int = 7) -> Event:
    return event("python_function", name, ts, dur, 7, tid, **{"Python id": 1})


def arrow(number: int, ts, *, finish: bool, tid: int = 7) -> Event:
    place = {"pid": 0, "tid": tid, "bp": "e"} if finish else {"pid": 7, "tid": tid}
    return {"ph": "f" if finish else "s", "id": number, "ts": ts, "cat": "ac2g", "name": "ac2g", **place}


class Tree:
    """The tree of a trace, by names, which each are used once."""

    def __init__(self, opened: Analysis) -> None:
        trace = opened.trace
        self._tree = opened.tree
        self._names = trace.names.gather(trace.events["name"]).to_list()

    def path(self, name: str) -> list[str]:
        """The names above an event, outermost first."""
        found: list[str] = []
        at = self._tree.parent[self._names.index(name)]
        while at >= 0:
            found.insert(0, self._names[at])
            at = self._tree.parent[at]
        return found

    def gpu_us(self, name: str) -> float:
        return int(self._tree.gpu_ns[self._names.index(name)]) / 1000

    def depth(self, name: str) -> int:
        return int(self._tree.depth[self._names.index(name)])


def tree_of(tmp_path, events: list[Event]) -> Tree:
    return Tree(analysis(tmp_path, events))


@pytest.mark.parametrize("late", ["0.001", "0.15", "0.999"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_call_that_starts_before_its_sibling_ends_is_no_child_of_it(tmp_path, late, order):
    """The call runs far beyond the sibling: it belongs to the op around both."""
    events = [
        op("outer", "0", "100", 1),
        op("sibling", "10", "20", 2),
        launch(str(30 - float(late)), 1, "8", name="cudaLaunchKernelExC"),
        kernel("k", "50", "12", 1),
    ]
    tree = tree_of(tmp_path, events[::order])
    assert tree.path("k") == ["outer", "cudaLaunchKernelExC"]
    assert (tree.gpu_us("outer"), tree.gpu_us("sibling")) == (12, 0)


def test_a_frame_that_runs_past_its_op_does_not_swallow_what_follows(tmp_path):
    """A wait of 3 s inside an op of 80 µs: the op that comes later in it and the one after it keep their parents."""
    events = [
        frame("train", "-10", "4000000"),
        op("outer", "0", "80", 1),
        frame("<built-in method wait>", "50", "3000000"),
        op("inner", "60", "10", 2),
        launch("62", 1, "3", name="launch inner"),
        op("after", "100", "20", 3),
        launch("105", 2, "3", name="launch after"),
        kernel("k1", "200", "5", 1),
        kernel("k2", "300", "7", 2),
    ]
    tree = tree_of(tmp_path, events)
    assert tree.path("k1") == ["train", "outer", "inner", "launch inner"]
    assert tree.path("k2") == ["train", "after", "launch after"]
    assert [tree.gpu_us(name) for name in ("train", "outer", "inner", "after")] == [12, 5, 5, 7]
    assert tree.gpu_us("<built-in method wait>") == 0


def test_threads_do_not_nest_in_each_other(tmp_path):
    events = [
        op("forward", "0", "100", 1),
        op("backward", "10", "20", 2, tid=9),
        launch("12", 1, "3", tid=9),
        kernel("k", "50", "4", 1),
    ]
    tree = tree_of(tmp_path, events)
    assert tree.path("k") == ["backward", "cudaLaunchKernel"]
    assert tree.gpu_us("forward") == 0


def test_equal_bounds_nest_by_kind_whatever_the_order(tmp_path):
    call = launch("0", 1, "10", name="call")
    nest = [event("user_annotation", "note", "0", "10", 7, 7), frame("frame", "0", "10"), op("op", "0", "10", 1), call]
    for events in (nest, nest[::-1]):
        tree = tree_of(tmp_path, [*events, kernel("k", "20", "4", 1)])
        assert tree.path("k") == ["note", "frame", "op", "call"]


@pytest.mark.parametrize("depth", [1, 1_200, 20_000])
def test_stacks_of_any_depth(tmp_path, depth):
    frames = [frame(f"f{level}", f"{level}", f"{3 * depth - 2 * level}") for level in range(depth)]
    events = [
        *frames,
        op("aten::relu", depth, depth / 2, 1),
        launch(depth + 0.1, 1, "0.1"),
        kernel("k", "99999", "7", 1),
    ]
    data = gzip.compress(document([text(item) for item in events]))
    tree = Tree(analysis(tmp_path, data))
    assert tree.depth("aten::relu") == depth
    assert tree.gpu_us("f0") == 7
    assert tree.path("aten::relu")[-1] == f"f{depth - 1}"


def linked(tmp_path, *events: Event) -> tuple[int, dict[str, int]]:
    told = info(tmp_path, [*events])
    return told["linked_count"], codes(told)


@pytest.mark.parametrize(
    "name", ["hipExtModuleLaunchKernel", "hipModuleLaunchKernel", "hipDrvLaunchKernelEx", "hipGraphLaunch",
             "cuLaunchKernelEx", "cudaLaunchCooperativeKernel", "zeCommandListAppendLaunchKernel", "unheard of"],
)  # fmt: skip
def test_a_call_of_any_name_owns_the_work_of_its_correlation(tmp_path, name):
    events = [op("aten::mm", "0", "20", 1), launch("5", 11, name=name), kernel("k", "30", "20", 11, stream=0)]
    assert linked(tmp_path, *events) == (1, {})
    assert tree_of(tmp_path, events).path("k") == ["aten::mm", name]


@pytest.mark.parametrize("category", ["cuda_runtime", "cuda_driver", "hip_runtime", "Runtime", "xpu_runtime"])
def test_a_call_of_any_category(tmp_path, category):
    call = {**launch("5", 11), "cat": category}
    assert linked(tmp_path, op("aten::mm", "0", "20", 1), call, kernel("k", "30", "20", 11)) == (1, {})


def test_a_number_of_one_space_is_none_of_another(tmp_path):
    """The kernel's correlation is the External id of one call; the correlation of the other links."""
    call = event("cuda_runtime", "right", "5", "2", 7, 7, correlation=3, External_id=8)
    wrong = event("cuda_runtime", "wrong", "10", "2", 7, 7, correlation=8, External_id=3)
    events = [call, wrong, event("kernel", "k", "20", "5", 0, 7, device=0, stream=7, correlation=3, External_id=3)]
    assert tree_of(tmp_path, events).path("k") == ["right"]


def test_a_graph_launch_owns_all_its_kernels(tmp_path):
    events = [op("graph", "0", "20", 1), launch("2", 5, name="cudaGraphLaunch")]
    events += [kernel(f"k{turn}", 30 + 10 * turn, "8", 5) for turn in range(4)]
    assert linked(tmp_path, *events)[0] == 4
    assert tree_of(tmp_path, events).gpu_us("graph") == 32


def test_an_arrow_links_where_no_correlation_does(tmp_path):
    bare = event("kernel", "k", "30", "5", 0, 7, device=0, stream=7)
    call = event("cuda_runtime", "cudaLaunchKernel", "5", "4", 7, 7)
    pair = (arrow(9, "5", finish=False), arrow(9, "30", finish=True))
    for arrows in (pair, pair[::-1]):
        assert linked(tmp_path, call, bare, *arrows)[0] == 1
    assert linked(tmp_path, call, bare, arrow(9, "5", finish=False)) == (0, {"no_host": 1, "unlinked": 1})
    assert linked(tmp_path, call, bare, *pair[:1], arrow(9, "31", finish=True, tid=8))[0] == 0


def test_orphans_are_kept_and_their_share_is_told(tmp_path):
    """A kernel and a copy without a launch: 5 + 3 of 18 µs; a kernel without any stream key."""
    bare = event("kernel", "no keys", "50", "5", 0, 3)
    events = [op("aten::mm", "0", "20", 1), launch("5", 1), kernel("k", "30", "10", 1), bare, copy("60", "3")]
    told = info(tmp_path, events)
    assert split(told, "window", "busy", "compute", "memcpy") == {"window": 33, "busy": 18, "compute": 15, "memcpy": 3}
    assert (told["gpu_events"], told["linked_count"]) == (3, 1)
    assert told["linked_percent"] == pytest.approx(1000 / 18)
    assert codes(told) == {"unlinked": 2}


def test_correlations_that_repeat_in_two_processes_stay_apart(tmp_path):
    """Two ranks merged: the same number in both, each with a GPU of its own."""
    events: list[Event] = []
    for rank in (0, 1):
        pid = 100 + rank
        events += [
            event("cpu_op", f"op{rank}", f"{rank}", "20", pid, pid, External_id=1),
            event("cuda_runtime", f"call{rank}", f"{rank + 2}", "4", pid, pid, correlation=1),
            event("kernel", f"k{rank}", f"{rank + 10}", "5", rank, 7, device=rank, stream=7, correlation=1),
        ]
    tree = tree_of(tmp_path, events)
    assert (tree.path("k0"), tree.path("k1")) == (["op0", "call0"], ["op1", "call1"])
