"""Which launch owns a GPU event."""

import numpy as np

from tests.trace.making import arrow, call, event, external, kernel, mark, names, only, op, read
from tracelens_tui.trace.links import last_at_or_before, launch_of, merged_processes, ranks_on_one_gpu
from tracelens_tui.trace.types import Trace


def launch_name(trace: Trace, gpu: str) -> str | None:
    launch = int(launch_of(trace)[only(trace, gpu)])
    return names(trace, [launch])[0] if launch >= 0 else None


def launch_of_gpu(trace: Trace) -> list[int]:
    """The start in µs of the launch of each GPU event, in file order; -1 none."""
    launch = launch_of(trace)
    start = trace.events["start_ns"].to_list()
    return [
        start[launch[i]] // 1000 if launch[i] >= 0 else -1
        for i in range(len(trace))
        if trace.events["kind"][i] in (5, 6, 7)
    ]


def test_correlation_without_any_flow_event():
    assert launch_of_gpu(read(call(11, 5), kernel(11, 30, 4), call(12, 6), kernel(12, 40, 4))) == [5, 6]


def test_a_graph_launch_owns_every_gpu_event_of_its_correlation():
    events = [
        call(9, 0, name="cudaGraphLaunch"),
        *(kernel(9, 10 + i, 1) for i in range(50)),
        call(8, 100),
        kernel(8, 99, 1),
    ]
    assert launch_of_gpu(read(*events)) == [0] * 50 + [100]


def test_correlation_is_never_compared_with_an_external_id():
    trace = read(
        call(23, 0, **external(1)),
        call(5, 10, **external(23)),
        kernel(5, 20, 1),
        kernel(None, 30, 1, **external(5)),
    )
    assert launch_of_gpu(trace) == [10, -1]


def test_zero_and_minus_one_are_no_numbers():
    trace = read(call(0, 0), kernel(0, 5, 1), call(-1, 10), kernel(-1, 15, 1), call(3, 20), kernel(3, 25, 1))
    assert launch_of_gpu(trace) == [-1, -1, 20]


def test_a_driver_call_launches_like_a_runtime_call():
    trace = read(call(4, 0, name="cuLaunchKernelEx", cat="cuda_driver"), kernel(4, 5, 1))
    assert launch_name(trace, "some_kernel") == "cuLaunchKernelEx"


def test_an_unknown_launch_api_links_too():
    assert launch_name(read(call(4, 0, name="xpuStartFoo"), kernel(4, 5, 1)), "some_kernel") == "xpuStartFoo"


def test_of_nested_calls_with_one_correlation_the_innermost_launch_owns():
    trace = read(
        call(4, 0, 9, name="cudaLaunchKernel"),
        call(4, 2, 5, name="cuLaunchKernel", cat="cuda_driver"),
        call(4, 3, 1, name="cuCtxGetCurrent", cat="cuda_driver"),
        kernel(4, 20, 1),
    )
    assert launch_name(trace, "some_kernel") == "cuLaunchKernel"


def test_a_number_used_twice_belongs_to_the_latest_launch_before_the_work():
    trace = read(call(4, 0), kernel(4, 5, 1), call(4, 100), kernel(4, 105, 1), kernel(4, 106, 1))
    assert launch_of_gpu(trace) == [0, 100, 100]


def test_work_that_starts_before_every_launch_of_its_number_is_linked_all_the_same():
    assert launch_of_gpu(read(kernel(4, 5, 1), call(4, 10), call(4, 20))) == [10]


def test_merged_ranks_link_within_their_process():
    """Two ranks with the same numbers: the k-th GPU belongs to the k-th process, as every number fits both."""
    events = []
    for rank, pid in enumerate((100, 200)):
        events += [call(n, 10 * n + rank, pid=pid, tid=pid) for n in range(1, 6)]
        events += [kernel(n, 10 * n + 5, 2, pid=rank, device=rank) for n in range(1, 6)]
    trace = read(*events)
    assert launch_of_gpu(trace) == [10, 20, 30, 40, 50, 11, 21, 31, 41, 51]
    assert merged_processes(trace) == 2
    assert not ranks_on_one_gpu(trace)


def test_merged_ranks_are_told_apart_by_the_numbers_that_fit():
    """GPU 0 carries the numbers of the second process only, against the order in the file."""
    first = [call(n, n, pid=100, tid=100) for n in (1, 2, 3, 50)]
    second = [call(n, n, pid=200, tid=200) for n in (7, 8, 9, 50)]
    work = [kernel(n, 60 + n, 1, pid=0, device=0) for n in (7, 8, 9, 50)]
    trace = read(*first, *second, *work)
    launch = launch_of(trace)
    pids = trace.threads["pid"].to_list()
    threads = trace.events["thread"].to_list()
    gpu = [i for i, kind in enumerate(trace.events["kind"]) if kind == 5]
    assert [pids[threads[int(launch[i])]] for i in gpu] == ["200"] * 4


def test_a_rank_without_the_launch_does_not_borrow_one_from_another_rank():
    rank0 = [call(n, n, pid=100, tid=100) for n in range(1, 11)] + [kernel(n, 20 + n, 1) for n in range(1, 11)]
    rank1 = [call(n, n, pid=200, tid=200) for n in range(1, 10)] + [
        kernel(n, 20 + n, 1, pid=1, device=1, name="ten" if n == 10 else "k") for n in range(1, 11)
    ]
    assert launch_name(read(*rank0, *rank1), "ten") is None


def test_processes_that_share_no_number_may_use_each_others_gpu():
    first = [call(n, n, pid=100, tid=100) for n in (1, 2, 3)] + [kernel(n, 20 + n, 1) for n in (1, 2)]
    second = [call(n, n, pid=200, tid=200) for n in (4, 5)] + [kernel(n, 20 + n, 1, device=1, pid=1) for n in (3, 4, 5)]
    assert launch_of_gpu(read(*first, *second)) == [1, 2, 3, 4, 5]


def test_ranks_whose_gpu_rows_lie_on_top_of_each_other():
    ranks = [[call(1, 0, pid=pid, tid=pid), call(pid, 1, pid=pid, tid=pid), kernel(pid, 10, 1)] for pid in (100, 200)]
    trace = read(*ranks[0], *ranks[1])
    assert ranks_on_one_gpu(trace)
    assert launch_of_gpu(trace) == [1, 1]
    launch = launch_of(trace)
    gpu = [i for i, kind in enumerate(trace.events["kind"]) if kind == 5]
    assert [trace.events["correlation"][int(launch[i])] for i in gpu] == [100, 200]


def test_an_arrow_links_work_that_has_no_correlation():
    trace = read(
        call(None, 0, 5),
        call(7, 50),
        kernel(None, 20, 4),
        kernel(7, 60, 1),
        arrow(31, 0, finish=False, pid=1, tid=1),
        arrow(31, 20, finish=True, pid=0, tid=7),
    )
    assert launch_of_gpu(trace) == [0, 50]


def test_an_arrow_without_a_tail_links_by_its_number():
    trace = read(
        call(31, 0, 5), call(7, 50), kernel(None, 20, 4), kernel(7, 60, 1), arrow(31, 20, finish=True, pid=0, tid=7)
    )
    assert launch_of_gpu(trace) == [0, 50]


def test_an_arrow_numbered_zero_links_where_it_is_the_only_one():
    """Files that count from 0 have one; where 0 stands for none, many arrows have it."""
    launches = (call(0, 0, 5), call(7, 50))
    pair = (arrow(0, 0, finish=False, pid=1, tid=1), arrow(0, 20, finish=True, pid=0, tid=7))
    assert launch_of_gpu(read(*launches, kernel(0, 20, 4), *pair)) == [0]
    more = (kernel(0, 20, 4), kernel(0, 30, 4), arrow(0, 30, finish=True, pid=0, tid=7))
    assert launch_of_gpu(read(*launches, *pair, *more)) == [-1, -1]
    assert launch_of_gpu(read(*launches, kernel(0, 20, 4), pair[1])) == [-1]


def test_arrows_to_host_rows_link_nothing():
    trace = read(call(7, 50), kernel(None, 20, 4), arrow(7, 50, finish=True, pid=1, tid=1))
    assert launch_of_gpu(trace) == [-1]


def test_an_arrow_to_the_next_kernel_does_not_link_the_one_before_that_ends_there():
    trace = read(
        call(None, 0, 5),
        call(8, 10, 5),
        kernel(None, 20, 4),
        kernel(8, 24, 4),
        arrow(8, 10, finish=False, pid=1, tid=1),
        arrow(8, 24, finish=True, pid=0, tid=7),
    )
    assert launch_of_gpu(trace) == [-1, 10]


def test_external_ids_link_only_where_no_event_has_a_correlation():
    def events(**correlation: int):
        return [
            op("aten::a", 0, 9, **external(3)),
            event("cuda_runtime", "cudaLaunchKernel", 1, 1, 1, 1, **external(3)),
            event("cuda_runtime", "cudaLaunchKernel", 4, 1, 1, 1, **external(3)),
            event("cuda_runtime", "cudaDeviceGetAttribute", 6, 1, 1, 1, **external(3)),
            kernel(None, 20, 1, **external(3)),
            kernel(None, 22, 1, **external(3)),
            kernel(None, 24, 1, **external(3)),
            kernel(None, 26, 1, **external(4)),
            event("cuda_runtime", "cudaMemcpyAsync", 90, 1, 1, 1, **correlation),
        ]

    assert launch_of_gpu(read(*events())) == [1, 4, 4, -1]
    assert launch_of_gpu(read(*events(correlation=77))) == [-1, -1, -1, -1]


def test_a_trace_with_one_side_only():
    assert launch_of_gpu(read(kernel(1, 0, 1))) == [-1]
    assert launch_of(read(call(1, 0), mark("ProfilerStep#1", 0, 9))).tolist() == [-1, -1]
    assert launch_of(read()).tolist() == []


def test_last_at_or_before():
    key, time = np.array([1, 1, 2]), np.array([10, 20, 5])
    asked = np.array([1, 1, 1, 2, 3]), np.array([20, 19, 9, 100, 50])
    assert last_at_or_before(key, time, *asked).tolist() == [1, 0, -1, 2, -1]
