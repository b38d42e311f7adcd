"""What is kept of a file's metadata, and above all what is not."""

import json
from decimal import Decimal

import pytest

from tracelens_tui.ingest.metadata import metadata_of, top_level
from tracelens_tui.trace.types import DeviceProperties, Source

SOURCE = Source(path="t.json", format="kineto", size=1)


def test_nothing_gives_defaults():
    found = metadata_of({}, SOURCE)
    assert (found.base_time_ns, found.devices, found.rank, found.world_size) == (0, (), None, None)
    assert (found.with_stack, found.record_shapes, found.extra, found.gpu_name_hints) == (False, False, {}, ())


def test_devices_of_all_vendors():
    cuda = {"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85, "computeMajor": 9, "computeMinor": 0, "numSms": 132,
            "warpSize": 32}  # fmt: skip
    xpu = {"id": "3", "name": " Intel(R) Max 1550 ", "maxComputeUnits": 512}
    found = metadata_of({"deviceProperties": [cuda, xpu, {}, 5]}, SOURCE).devices
    assert found == (
        DeviceProperties(0, "NVIDIA H100", 132, 85, 9, 0, 32),
        DeviceProperties(3, "Intel(R) Max 1550", 512),
        DeviceProperties(2, ""),
    )


@pytest.mark.parametrize("odd", [None, {}, "x", 5, [None, "a"], {"id": 1}])
def test_odd_values_count_as_absent(odd):
    found = metadata_of({"deviceProperties": odd, "distributedInfo": odd, "baseTimeNanoseconds": odd}, SOURCE)
    assert found.devices == ()
    assert found.rank is None


@pytest.mark.parametrize(
    ("value", "flag"), [(1, True), (True, True), ("1", True), ("true", True), (0, False), (None, False)]
)
def test_recording_options(value, flag):
    found = metadata_of({"with_stack": value, "record_shapes": value}, SOURCE)
    assert (found.with_stack, found.record_shapes) == (flag, flag)


def test_rank_and_base_time():
    top = {
        "distributedInfo": {"backend": "nccl", "rank": "3", "world_size": 8, "nccl_version": "2.27.5", "pg_config": []}
    }
    found = metadata_of({**top, "baseTimeNanoseconds": 1767189312000000000}, SOURCE)
    assert (found.rank, found.world_size, found.base_time_ns) == (3, 8, 1767189312000000000)
    assert found.extra == {"distributedInfo.backend": "nccl", "distributedInfo.nccl_version": "2.27.5"}


def test_scalars_are_kept_as_text():
    top = {"cuda_runtime_version": 12090, "roctracer_version": Decimal("4.1"), "profile_memory": True, "trace_id": "AB",
           "displayTimeUnit": "ms", "list": [1], "object": {"a": 1}, "nothing": None, "long": "x" * 500}  # fmt: skip
    assert metadata_of(top, SOURCE).extra == {
        "cuda_runtime_version": "12090", "roctracer_version": "4.1", "profile_memory": "true", "trace_id": "AB",
        "displayTimeUnit": "ms",
    }  # fmt: skip


def test_hostile_scalars_are_plain_text():
    assert metadata_of({"note\x1b[31m": "a\x1b]0;title\x07b\n\u202ec"}, SOURCE).extra == {"note": "ab c"}


def test_secrets_are_not_kept():
    secrets = {
        "HF_TOKEN": "s3cret", "api_key": "s3cret", "password": "s3cret", "environment": "s3cret", "username": "s3cret",
        "hostname": "s3cret", "command": "s3cret", "PT_PROFILER_JOB_NAME": "s3cret", "callback_url": "s3cret",
        "metadata": {"env": {"GPU_TOKEN": "s3cret H100", "gpu": "s3cret H100"}, "environ": {"gpu": "s3cret A100"}},
    }  # fmt: skip
    assert "s3cret" not in repr(metadata_of(secrets, SOURCE))


def test_gpu_names_elsewhere_in_the_metadata():
    top = {
        "metadata": {
            "system": {"gpu": {"gpu_00": "NVIDIA H100 80GB HBM3", "gpu_01": "NVIDIA H100 80GB HBM3"}, "node": "n1"},
            "torch_env_info": {
                "nvidia_gpu_models": "GPU 0: NVIDIA A100-SXM4-40GB\nGPU 1: AMD Instinct MI300X (UUID: GPU-1)"
            },
            "experiment": {"device": "cuda:0"},
        },
        "deviceProperties": [{"name": "not a hint 1"}],
    }
    hints = metadata_of(top, SOURCE).gpu_name_hints
    assert hints == ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "AMD Instinct MI300X")


def test_hints_end_at_a_depth_and_a_number():
    deep: object = "NVIDIA H100"
    for _ in range(50):
        deep = {"gpu": deep}
    assert metadata_of({"gpu": deep}, SOURCE).gpu_name_hints == ()
    assert len(metadata_of({"gpus": [f"GPU model {n}" for n in range(500)]}, SOURCE).gpu_name_hints) == 64


TOP = {"schemaVersion": 1, "baseTimeNanoseconds": 5, "deviceProperties": [{"id": 0, "name": "A ]} B"}]}
HEAD = json.dumps(TOP)[:-1].encode() + b', "traceEvents": ['


@pytest.mark.parametrize(
    ("tail", "following"),
    [(b', "traceName": "x"}', 0), (b"}", 0), (b"}\n \0\0", 0), (b"} rest \xff\n", 6), (b' }{"traceEvents": []}', 19),
     (b" ", None), (b"", None), (b', "traceName": "x', None), (b', "INFO": ["say "hi" C:\\Users"]}', None)],
)  # fmt: skip
def test_top_level_of_whole_cut_and_broken_documents(tail, following):
    found, rest = top_level(HEAD, tail)
    assert {key: found[key] for key in TOP} == TOP
    assert rest == following


def test_top_level_of_a_head_that_no_reader_understands():
    broken = b'{"INFO": ["a" b" :c], "with_stack": 1, "deviceProperties": [{"id": 0}], "traceEvents": ['
    found, _ = top_level(broken, b"} }}")
    assert (found["with_stack"], found["deviceProperties"]) == (1, [{"id": 0}])
    assert top_level(b"", b"") == ({}, 0)
    assert top_level(b"", b"\n[1]\n") == ({}, 3)
