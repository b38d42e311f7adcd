"""The time split: work that overlaps where it can and where it cannot, several devices.  Values by hand."""

import pytest

from tests.variants.making import codes, copy, info, kernel, launch, split

ALL = ("window", "busy", "idle", "compute", "comm", "exposed_comm", "memcpy", "exposed_memcpy")
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def numbers(told) -> tuple[float, ...]:
    return tuple(split(told, *ALL).values())


@pytest.mark.parametrize("length", ["5000", "3400000", "1e9", "2591999999999"])
@pytest.mark.parametrize("first", [True, False])
def test_a_kernel_that_seems_to_run_over_all_that_follow(tmp_path, length, first):
    """It ends at the next start on its stream: 0-10, 20-30 (clipped), 30-45 and, after it in the file or not, 50-60."""
    events = [launch(str(at), at + 1, "0.5") for at in range(4)]
    rest = [kernel("a", "0", "10", 1), kernel("c", "30", "15", 3), kernel("d", "50", "10", 4)]
    long = kernel("long", "20", length, 2)
    told = info(tmp_path, [*events, *([long, *rest] if first else [*rest, long])])
    assert numbers(told) == (60, 45, 15, 45, 0, 0, 0, 0)
    assert codes(told) == {"duration_overflow": 1, "no_host": 1}
    assert told["time_us_raw"]["window"] == pytest.approx(20 + float(length))


def test_work_on_another_stream_does_not_end_a_long_kernel(tmp_path):
    """Streams run side by side: 100 µs on stream 7 over two of 10 µs on stream 8 are no fault."""
    told = info(
        tmp_path, [kernel("long", "0", "100"), kernel("a", "20", "10", stream=8), kernel("b", "50", "10", stream=8)]
    )
    assert numbers(told) == (100, 100, 0, 100, 0, 0, 0, 0)
    assert codes(told) == {"no_host": 1}
    assert told["sum_dur_us"] == 120


def test_the_same_stream_of_another_device_does_not_either(tmp_path):
    told = info(tmp_path, [kernel("long", "0", "100"), kernel("a", "20", "10", device=1)])
    assert {device: part["busy"] for device, part in told["devices"].items()} == {"0": 100, "1": 10}
    assert codes(told) == {"no_host": 1}


def test_a_small_overlap_is_clipped_and_both_keep_their_start(tmp_path):
    told = info(tmp_path, [kernel("a", "0", "10.002"), kernel("b", "10", "5")])
    assert numbers(told) == (15, 15, 0, 15, 0, 0, 0, 0)
    assert (told["sum_dur_us"], codes(told)) == (15, {"stream_overlap": 1, "no_host": 1})


def test_two_that_start_together_on_one_stream(tmp_path):
    """Neither can end at the other's start: the union counts once, nothing is clipped."""
    told = info(tmp_path, [kernel("a", "0", "10"), kernel("b", "0", "4"), kernel("c", "20", "1")])
    assert numbers(told) == (21, 11, 10, 11, 0, 0, 0, 0)


def test_compute_over_communication_over_copies(tmp_path):
    """Compute 0-20, 30-40, 55-60; comm 10-35, exposed 20-30; copies 15-50, exposed 40-50."""
    events = [
        kernel("gemm", "0", "20"), kernel("gemm", "30", "10"), kernel("tail", "55", "5"),
        kernel(NCCL, "10", "25", stream=20), copy("15", "35"),
    ]  # fmt: skip
    told = info(tmp_path, events)
    assert numbers(told) == (60, 55, 5, 35, 25, 10, 35, 10)
    assert told["sum_dur_us"] == 95


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", "comm"),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "comm"),
        ("void rccl_AllReduce<float>()", "comm"),
        ("CopyDeviceToHost", "memcpy"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "memcpy"),
        ("__amd_rocclr_copyBuffer.kd", "memcpy"),
        ("__amd_rocclr_copyBuffer", "memcpy"),
        ("void at::native::copy_kernel<float>()", "compute"),
    ],
)
def test_what_counts_as_communication_and_as_a_copy(tmp_path, name, part):
    told = info(tmp_path, [kernel("gemm", "0", "10"), kernel(name, "20", "7", stream=9)])
    expected = {"compute": 10, "comm": 0, "memcpy": 0}
    expected[part] += 7
    assert split(told, *expected) == expected


def test_touching_and_nested_intervals_count_once(tmp_path):
    """0-10, 10-20, 5-15 on another stream, and an instant at 30: busy 20 of a window of 30."""
    events = [kernel("a", "0", "10"), kernel("b", "10", "10"), kernel("c", "5", "10", stream=8), kernel("d", "30", "0")]
    told = info(tmp_path, events)
    assert split(told, "window", "busy") == {"window": 30, "busy": 20}
    assert told["sum_dur_us"] == 30


def test_a_sum_of_a_day_in_single_nanoseconds(tmp_path):
    """Kernels of 12 h with 1 ns between them: not a digit is lost."""
    half_day = 43_200_000_000
    told = info(tmp_path, [kernel("a", "0", str(half_day)), kernel("b", f"{half_day}.001", str(half_day))])
    assert split(told, "window", "busy", "idle") == {
        "window": 2 * half_day + 0.001, "busy": 2 * half_day, "idle": 0.001,
    }  # fmt: skip
