"""Read a generated file without any of the project's code: JSON, exact decimals, nesting, links, formulas."""

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

PEAK_BF16, BANDWIDTH = Decimal(708) * 10**12, Decimal(5300) * 10**9
LAUNCHES = ("hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel", "hipExtLaunchKernel")
GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def load(path: Path) -> dict:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return json.loads(text, parse_float=Decimal)


def events_of(document: dict, *categories: str) -> list[dict]:
    return [event for event in document["traceEvents"] if event.get("cat") in categories and event["ph"] == "X"]


def ns(value: Decimal | int) -> int:
    scaled = Decimal(value) * 1000
    assert scaled == int(scaled)
    return int(scaled)


def span(event: dict) -> tuple[int, int]:
    start = ns(event["ts"])
    return start, start + ns(event["dur"])


@dataclass(slots=True)
class Call:
    """One cpu_op with the kernels that were launched inside it."""

    event: dict
    kernel_ns: int = 0
    kernels: int = 0


def calls(document: dict) -> list[Call]:
    """Every cpu_op with the durations of all kernels launched while it was open on its thread."""
    duration = {event["args"]["correlation"]: ns(event["dur"]) for event in events_of(document, *GPU)}
    rows: dict[tuple, list[dict]] = defaultdict(list)
    for event in events_of(document, "cpu_op", "cuda_runtime"):
        rows[event["pid"], event["tid"]].append(event)
    found: list[Call] = []
    for row in rows.values():
        row.sort(key=lambda event: (span(event)[0], -span(event)[1]))
        stack: list[tuple[int, Call]] = []
        for event in row:
            start, end = span(event)
            while stack and stack[-1][0] <= start:
                stack.pop()
            if event["cat"] == "cpu_op":
                call = Call(event)
                found.append(call)
                stack.append((end, call))
            elif event["args"]["correlation"] in duration:
                for _, call in stack:
                    call.kernel_ns += duration[event["args"]["correlation"]]
                    call.kernels += 1
    return found


def gemm_least_ns(args: dict) -> Decimal:
    (m, k), (inner, n) = args["Input Dims"]
    assert k == inner
    flops, moved = Decimal(2 * m * n * k), Decimal(2 * (m * k + k * n + m * n))
    return max(flops / PEAK_BF16, moved / BANDWIDTH) * 10**9


def merged(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def covered(intervals: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in merged(intervals))
