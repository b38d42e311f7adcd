"""Copies and collectives: exposed parts by hand and against the time split, rates by the formula of nccl-tests."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.analysis.making import Event, analysed, kernel, launch
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.analysis.transfers import bus_factor, transfers_of


def allreduce(start: int, length: int, number: int, *, stream: int = 20) -> Event:
    told: dict[str, Any] = {
        "Collective name": "allreduce",
        "dtype": "BFloat16",
        "In msg nelems": 1_000_000,
        "Group size": 8,
    }
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    told |= {"Out msg nelems": 1_000_000, "Process Group Name": "dp"}
    return kernel(name, start, length, number, stream=stream, **told)


def copy(name: str, start: int, length: int, number: int, **args: Any) -> Event:
    return kernel(name, start, length, number, stream=30, cat="gpu_memcpy", **args)


def test_each_instant_is_exposed_once() -> None:
    """Compute 0 to 100 µs; collectives 80 to 200 and 150 to 250; a copy 180 to 300: 100, 50 and 50 µs are exposed."""
    events = [
        launch(1, 0), launch(2, 1), launch(3, 2), launch(4, 3),
        kernel("gemm", 0, 100, 1), allreduce(80, 120, 2), allreduce(150, 100, 3, stream=21),
        copy("Memcpy HtoD (Pageable -> Device)", 180, 120, 4, bytes=12_000),
    ]  # fmt: skip
    analysis = analysed(events)
    frame = transfers_of(analysis)
    assert frame["exposed_ns"].to_list() == [100_000, 50_000, 50_000]
    assert frame["name"].to_list() == ["allreduce", "allreduce", "H2D"]
    assert frame["pageable"].to_list() == [None, None, True]
    assert frame["bytes"].to_list() == [2_000_000, 2_000_000, 12_000]
    assert frame["group_size"].to_list() == [8, 8, None]
    assert frame["waiter"].to_list() == [None, None, None]  # nothing computes afterwards
    split = analysis.splits[0]
    assert (split.exposed_comm, split.exposed_memcpy) == (150_000, 50_000)


def test_what_begins_after_a_transfer_waits_for_it() -> None:
    events = [
        launch(1, 0), launch(2, 1), launch(3, 2),
        kernel("before", 0, 10, 1), allreduce(10, 30, 2), kernel("after", 45, 10, 3),
    ]  # fmt: skip
    analysis = analysed(events)
    frame = transfers_of(analysis)
    names = analysis.trace.names.gather(analysis.trace.events["name"].gather(frame["waiter"]))
    assert names.to_list() == ["after"]
    assert frame["same_stream"].to_list() == [False]


@pytest.mark.parametrize(
    ("name", "direction", "pageable"),
    [
        ("Memcpy HtoD (Pinned -> Device)", "H2D", False),
        ("Memcpy DtoH (Device -> Pageable)", "D2H", True),
        ("Memcpy DtoD (Device -> Device)", "D2D", None),
        ("CopyHostToDevice", "H2D", None),
        ("CopyDeviceToHost", "D2H", None),
        ("Memcpy PtoP (Device -> Device)", "P2P", None),
        ("Memcpy P2P", "P2P", None),
        ("Memcpy Unknown", "other", None),
    ],
)
def test_directions_by_the_names_of_both_vendors(
    tmp_path: Path, name: str, direction: str, pageable: bool | None
) -> None:
    frame = transfers_of(analysed([launch(1, 0), copy(name, 10, 5, 1)]))
    assert (frame["name"][0], frame["pageable"][0]) == (direction, pageable)


@pytest.mark.parametrize(
    ("kind", "ranks", "factor"),
    [
        ("allreduce", 8, 1.75),
        ("all_reduce", 2, 1.0),
        ("_allgather_base", 8, 0.875),
        ("_reduce_scatter_base", 4, 0.75),
        ("all_to_allv", 4, 0.75),
        ("broadcast", 8, None),
        ("allreduce", 1, None),
        ("allreduce", None, None),
    ],
)
def test_bus_factors(kind: str, ranks: int | None, factor: float | None) -> None:
    assert bus_factor(kind, ranks) == factor


@pytest.mark.parametrize("name", ["hta_nccl", "mi300_resnet_ckpt", "hta_diff_test", "mi300_owlv2", "hta_sampled_rank0"])
def test_the_parts_of_real_traces_add_up_to_the_split(shared: Path, name: str) -> None:
    analysis = open_analysis_of(shared / f"traces/{name}.json.gz", use_cache=False)
    assert analysis.device is not None
    split = analysis.splits[analysis.device]
    frame = transfers_of(analysis, rated=True)
    sums = dict(frame.group_by("collective").agg(pl.col("exposed_ns").sum()).iter_rows())
    assert sums.get(True, 0) == split.exposed_comm
    assert sums.get(False, 0) == split.exposed_memcpy
