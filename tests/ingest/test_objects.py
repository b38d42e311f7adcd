"""The tolerant decoder, event by event, and the columns that it fills; expected values by hand."""

from decimal import Decimal

import polars as pl
import pytest

from tests.ingest.making import document, event, load
from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.ingest.texts import text_of
from tracelens_tui.trace.types import EVENT_SCHEMA, FLOW_SCHEMA, NONE_ID, Kind, Role


def one(**changes):
    base = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 2}
    trace = trace_from_objects([{**base, **changes}])
    return trace.events.row(0, named=True)


def test_no_events_give_an_empty_trace_with_all_columns():
    trace = trace_from_objects([{}, {"name": "no phase"}, 5, None, []])
    assert len(trace) == 0
    assert dict(trace.events.schema) == EVENT_SCHEMA
    assert dict(trace.flows.schema) == FLOW_SCHEMA
    assert trace.args.rows() == [("", "", "", "")]


@pytest.mark.parametrize(
    ("category", "kind", "role"),
    [
        ("cpu_op", Kind.CPU_OP, Role.NONE),
        ("python_function", Kind.PYTHON_FUNCTION, Role.NONE),
        ("cuda_runtime", Kind.RUNTIME, Role.NONE),
        ("Runtime", Kind.RUNTIME, Role.NONE),
        ("cuda_driver", Kind.DRIVER, Role.NONE),
        ("kernel", Kind.KERNEL, Role.COMPUTE),
        ("Kernel", Kind.KERNEL, Role.COMPUTE),
        ("gpu_memcpy", Kind.MEMCPY, Role.COPY),
        ("Memcpy", Kind.MEMCPY, Role.COPY),
        ("Memset", Kind.MEMSET, Role.COMPUTE),
        ("gpu_user_annotation", Kind.GPU_ANNOTATION, Role.NONE),
        ("user_annotation", Kind.USER_ANNOTATION, Role.NONE),
        ("cuda_sync", Kind.SYNC, Role.NONE),
        ("overhead", Kind.OVERHEAD, Role.NONE),
        ("never heard of", Kind.OTHER, Role.NONE),
        (None, Kind.OTHER, Role.NONE),
    ],
)
def test_kinds_and_roles(category, kind, role):
    row = one(cat=category)
    assert (row["kind"], row["role"]) == (kind, role)


def test_categories_are_counted_as_the_file_spells_them():
    trace = trace_from_objects([{"ph": "X", "ts": 1, "cat": cat} for cat in ("Kernel", "odd", "odd", None)])
    assert trace.metadata.category_counts == {"Kernel": 1, "odd": 2, "": 1}
    assert trace.metadata.phase_counts == {"X": 4}


@pytest.mark.parametrize("value", [0, -1, "0", "-1", None, "none", [], 2**64 - 1, "6.5"])
def test_ids_that_mean_none(value):
    row = one(args={"correlation": value, "External id": value})
    assert (row["correlation"], row["external_id"]) == (NONE_ID, NONE_ID)


def test_ids_beyond_64_bits_are_told_apart():
    numbers = [2**63, 2**64, 10**30]
    found = [one(args={"correlation": number})["correlation"] for number in numbers]
    assert len(set(found)) == 3
    assert min(found) >= 2**62
    assert found == [one(args={"correlation": str(number)})["correlation"] for number in numbers]


def test_ids_in_any_spelling():
    row = one(args={"correlation": "6", "External id": 7.0, "Sequence number": "8e0"})
    assert (row["correlation"], row["external_id"], row["sequence"], row["fwd_thread"]) == (6, 7, 8, -1)
    assert one(args={"external id": 9})["external_id"] == 9
    assert one(args={"external id": 9, "External id": 8})["external_id"] == 8


@pytest.mark.parametrize(
    ("place", "args", "expected"),
    [
        ({"pid": 5, "tid": 3}, {"device": 2, "stream": 7}, (2, 7)),
        ({"pid": "5", "tid": "stream 3 "}, {}, (5, 3)),
        ({"pid": 5, "tid": 3}, {"device": "1", "stream": "9"}, (1, 9)),
        ({"pid": 5, "tid": 3}, {"device": "auto", "stream": "0x7f00"}, (5, 3)),
        ({"pid": "GPU", "tid": "none"}, {}, (-1, -1)),
        ({"pid": 1, "tid": 20}, {"fromDevice": 0, "toDevice": 1, "inDevice": 0}, (1, 20)),
        ({"pid": 4, "tid": 0}, {"device": 4, "stream": 0}, (4, 0)),
    ],
)
def test_device_and_stream_arguments_win_over_the_row(place, args, expected):
    row = one(**place, args=args)
    assert (row["device"], row["stream"]) == expected


def test_host_events_have_no_device():
    row = one(cat="cuda_runtime", args={"device": 1, "stream": 7, "bytes": 4})
    assert (row["device"], row["stream"], row["bytes"]) == (-1, -1, -1)


def test_bytes_of_copies():
    assert one(cat="gpu_memcpy", args={"bytes": "616"})["bytes"] == 616
    assert one(cat="gpu_memset", args={"bytes": 2**40})["bytes"] == 2**40
    assert one(cat="gpu_memcpy")["bytes"] == -1


def test_a_missing_duration_is_noted_and_a_negative_one_delivered_raw():
    trace = trace_from_objects(
        [{"ph": "X", "cat": "cpu_op", "ts": 5}, {"ph": "X", "cat": "kernel", "ts": 6, "dur": -3}]
    )
    assert trace.events["dur_ns"].to_list() == [0, -3000]
    assert trace.repairs.rows() == [(0, "missing_duration", 5000, None)]


def test_events_without_a_time_are_counted_and_their_neighbours_keep_their_arguments():
    def op(ts, number):
        return {"ph": "X", "cat": "cpu_op", "name": "op", "ts": ts, "dur": 1, "args": {"Input Dims": [[number]]}}

    trace = trace_from_objects([op(1, 1), op("soon", 2), op(None, 3), op(4, 4)])
    assert trace.events["uid"].to_list() == [0, 3]
    assert trace.args["dims"].gather(trace.events["args"]).to_list() == ["[[1]]", "[[4]]"]
    item = trace.quality.get("unreadable_event")
    assert item is not None
    assert (item.count, trace.quality.events_lost) == (2, 2)


def test_arguments_are_stored_once_in_the_order_of_their_use():
    def op(dims):
        return event("cpu_op", "op", "1", "1", 1, 1, **{"Input Dims": dims, "Input type": ["float"]})

    trace = trace_from_objects([op([[2, 3]]), event("cpu_op", "bare", "1", "1", 1, 1), op([[1]]), op([[2, 3]])])
    assert trace.events["args"].to_list() == [1, 0, 2, 1]
    assert trace.args.rows() == [("", "", "", ""), ("[[2, 3]]", '["float"]', "", ""), ("[[1]]", '["float"]', "", "")]


def test_details_of_a_collective_as_text():
    args = {
        "Collective name": "allreduce", "dtype": "Float", "Process Group ID": 3, "Process Group Ranks": "[0, 1]",
        "Group size": 2, "In msg nelems": 10, "Out msg nelems": 10, "In split size": "[]", "Comms Id": 10**22,
    }  # fmt: skip
    trace = trace_from_objects([event("cpu_op", "record_param_comms", "1", "1", 1, 1, **args)])
    row = trace.details.row(int(trace.events["detail"][0]), named=True)
    assert row == {
        "grid": "", "block": "", "collective": "allreduce", "dtype": "Float", "group": "3", "group_ranks": "[0, 1]",
        "group_size": "2", "in_nelems": "10", "out_nelems": "10", "in_split": "[]", "out_split": "", "kernel_file": "",
        "comms_id": "10000000000000000000000",
    }  # fmt: skip


def test_threads_are_told_apart_by_their_ids_and_by_host_or_gpu():
    trace = trace_from_objects(
        [
            event("python_function", "f", "1", "1", 0, 0),
            event("kernel", "k", "1", "1", 0, 0),
            event("cpu_op", "op", "1", "1", 140588800255680, 140589156634432),
            event("cpu_op", "op", "1", "1", "Spans", "PyTorch Profiler"),
            {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "early"}},
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "stream 0 "}},
        ]
    )
    assert trace.events["thread"].to_list() == [0, 1, 2, 3]
    assert trace.threads.rows() == [
        ("0", "0", "", "GPU 0", "stream 0", False),
        ("0", "0", "", "GPU 0", "stream 0", True),
        ("140588800255680", "140589156634432", "", "", "", False),
        ("Spans", "PyTorch Profiler", "", "", "", False),
    ]


ARROW = {"cat": "ac2g", "name": "ac2g"}


def test_arrows_are_kept_where_an_event_lacks_its_correlation():
    launch = event("cuda_runtime", "launch", "1", "1", 9, 9, correlation=4)
    arrows = [
        {"ph": "s", "id": 4, "pid": 9, "tid": 9, "ts": 1, **ARROW},
        {"ph": "f", "id": "4", "pid": 0, "tid": 7, "ts": 3, **ARROW},
        {"ph": "f", "id": 5, "pid": 9, "tid": 9, "ts": 3, **ARROW},  # heads on host rows mean nothing
    ]
    kernel = event("kernel", "k", "3", "1", 0, 7)
    trace = trace_from_objects([launch, kernel, *arrows])
    assert trace.flows.rows() == [(4, False, False, 0, 1000), (4, False, True, 1, 3000)]
    kernel["args"] = {"correlation": 4}
    assert trace_from_objects([launch, kernel, *arrows]).flows.height == 0


def test_arrows_from_forward_to_backward_ops_are_kept_always(tmp_path):
    """By both decoders; the number of an arrow of another kind is another number."""
    events = [
        event("cuda_runtime", "launch", "1", "1", 9, 9, correlation=4),
        event("cpu_op", "MmBackward0", "5", "1", 9, 10),
        event("kernel", "k", "3", "1", 0, 7, correlation=4),
        {"ph": "s", "id": 4, "pid": 9, "tid": 9, "ts": 1, **ARROW},
        {"ph": "s", "id": 4, "pid": 9, "tid": 9, "ts": 1, "cat": "fwdbwd", "name": "fwdbwd"},
        {"ph": "f", "id": 4, "pid": 9, "tid": 10, "ts": 5, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
        {"ph": "f", "id": 4, "pid": 9, "tid": 99, "ts": 5, "cat": "fwdbwd", "name": "fwdbwd"},  # no such thread
    ]
    for trace in (trace_from_objects(events), load(tmp_path, document(events))):
        assert trace.flows.rows() == [(4, True, False, 0, 1000), (4, True, True, 1, 5000)]


def test_kernels_without_a_name_are_counted_and_metric_rows_are_no_kernels():
    trace = trace_from_objects(
        [
            event("kernel", "metrics: gemm", "1", "1", 0, 0),
            {"ph": "X", "cat": "kernel", "ts": 1, "dur": 1},
            event("kernel", "gemm", "1", "1", 0, 0),
        ]
    )
    assert trace.events["kind"].to_list() == [Kind.OTHER, Kind.KERNEL, Kind.KERNEL]
    assert [(item.code, item.count) for item in trace.quality.items] == [("unnamed_kernel", 1)]


def test_half_a_surrogate_pair_becomes_text_that_has_a_utf8_form():
    trace = trace_from_objects([event("cpu_op", "half \ud83d emoji", "1", "1", 1, 1)])
    assert trace.names.to_list() == ["half ? emoji"]
    trace.names.to_list()[0].encode("utf-8")


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (5, "5"), (6.0, "6"), (0.5, "0.5"), (True, "true"), (None, None), ([1, "ü", None], '[1, "ü", null]'),
     ([], "[]"), ({"a": [Decimal("1.0")]}, '{"a": [1]}'), (10**22, "1" + "0" * 22)],
)  # fmt: skip
def test_text_of_values(value, text):
    assert text_of(value) == text


def test_more_objects_than_a_batch_holds():
    events = [event("cpu_op", f"op{n % 7}", str(n), "1", 1, n % 3, **{"Input Dims": [[n % 5]]}) for n in range(60_000)]
    trace = trace_from_objects(iter(events))
    assert trace.events["uid"].to_list() == list(range(60_000))
    assert trace.names.gather(trace.events["name"]).to_list() == [f"op{n % 7}" for n in range(60_000)]
    assert trace.args["dims"].gather(trace.events["args"]).to_list() == [f"[[{n % 5}]]" for n in range(60_000)]
    assert (trace.names.len(), trace.threads.height, trace.args.height) == (7, 3, 6)
    assert isinstance(trace.events, pl.DataFrame)
