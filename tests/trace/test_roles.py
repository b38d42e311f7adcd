import numpy as np
import pytest

from tracelens_tui.trace.roles import is_collective, is_copy, role_codes
from tracelens_tui.trace.types import Kind, Role

COLLECTIVES = [
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
    "void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>(vllm::RankData*)",
    "void aiter::cross_device_reduce_2stage<float, 4>()",
    "void aiter::reduce_scatter_cross_device_store<float>()",
    "mscclKernel_Sum_half_LL",
    "nvshmemi_transfer_rma_kernel",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<float>()",
    "two_shot_all_reduce_kernel",
    "multimem_all_gather_kernel",
    "void quickreduce::allreduce_prototype_twoshot<Codec>()",
    "void deep_ep::intranode::dispatch<8, 768>()",
]
COMPUTE = [
    "Cijk_Ailk_Bljk_BBS_BH_Bias",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>()",
    "void at::native::vectorized_gather_kernel<16, long>()",
    "__amd_rocclr_fillBufferAligned.kd",
    "triton_poi_fused_add_all_reduce_wait_tensor_3",
    "void at::native::bfloat16_copy_kernel_cuda()",
    "void LayerNormForward<BlockAllReduce<SumOp>>()",
    "void (anonymous namespace)::CatArrayBatchedCopy<float>()",
    "scatter_reduce_kernel",
]
COPIES = [
    "MEMORY_COPY_DEVICE_TO_HOST",
    "__amd_rocclr_copyBuffer.kd",
    "__amd_rocclr_copyBufferRectAligned",
    "CopyHostToDevice",
]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(name):
    assert is_collective(name)
    assert not is_copy(name)


@pytest.mark.parametrize("name", COMPUTE)
def test_compute(name):
    assert not is_collective(name)
    assert not is_copy(name)


@pytest.mark.parametrize("name", COPIES)
def test_copies_that_old_rocm_profilers_call_kernels(name):
    assert is_copy(name)


def test_the_kind_decides_first():
    names = ["ncclDevKernel_AllGather", "Memcpy HtoD (Host -> Device)", "Memset (Device)", "gemm", "nccl:all_reduce"]
    rows = [
        (Kind.KERNEL, 0, Role.COMM),
        (Kind.MEMCPY, 1, Role.COPY),
        (Kind.MEMSET, 2, Role.COMPUTE),
        (Kind.KERNEL, 3, Role.COMPUTE),
        (Kind.KERNEL, 1, Role.COPY),
        (Kind.USER_ANNOTATION, 4, Role.NONE),
        (Kind.CPU_OP, 0, Role.NONE),
        (Kind.GPU_ANNOTATION, 4, Role.NONE),
    ]
    kinds = np.array([row[0] for row in rows], np.uint8)
    codes = np.array([row[1] for row in rows], np.uint32)
    assert role_codes(kinds, codes, names).tolist() == [int(row[2]) for row in rows]
    assert role_codes(kinds[:0], codes[:0], []).tolist() == []
