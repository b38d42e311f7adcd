"""Functors and fixed kernels of ATen that the generated models use, in the spelling of ROCm builds."""

from tracelens_tui.evals.host import Kernel
from tracelens_tui.evals.kernels import binary, dispatched, scalar_binary

_SPACE = "at::native::(anonymous namespace)::"
_CPP16 = "c10::BFloat16"

ADD = f"at::native::CUDAFunctor_add<{_CPP16}>"
ADD_FP32 = "at::native::CUDAFunctor_add<float>"
ADD_SELF_FP32 = "at::native::CUDAFunctorOnSelf_add<float>"
MUL = binary("Mul")
MUL_FP32 = binary("Mul", "fp32")
SCALE_FP32 = scalar_binary("Mul", "fp32")
NEG = dispatched("neg_kernel_cuda", 9)
RSQRT_FP32 = dispatched("rsqrt_kernel_cuda", 2, "fp32")
SILU = dispatched("(anonymous namespace)::silu_kernel", 6)
SILU_BACKWARD = dispatched("(anonymous namespace)::silu_backward_kernel", 6)
POW_FP32 = f"{_SPACE}pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{{lambda(float)#1}}"

_OPAQUE = f"{_SPACE}OpaqueType<2u>"
CAT = Kernel(
    f"void {_SPACE}CatArrayBatchedCopy<{_OPAQUE}, unsigned int, 4, 64, 64>({_OPAQUE}*, "
    f"{_SPACE}CatArrInputTensorMetadata<{_OPAQUE}, unsigned int, 64, 64>, "
    f"{_SPACE}TensorSizeStride<unsigned int, 4u>, int, unsigned int)",
    (2048, 2, 1),
)
_INFO = "at::cuda::detail::TensorInfo"
EMBEDDING = Kernel(
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
    (4096, 1, 1),
)
EMBEDDING_BACKWARD = Kernel(
    f"void {_SPACE}embedding_backward_feature_kernel<{_CPP16}, float, long>"
    f"(long const*, {_CPP16} const*, {_CPP16}*, int, long, int)",
    (64, 1, 1),
    (64, 16, 1),
)
LOG_SOFTMAX = Kernel(
    f"void {_SPACE}cunn_SoftMaxForward<4, float, float, float, {_SPACE}LogSoftMaxForwardEpilogue>"
    "(float*, float const*, int)",
    (4096, 1, 1),
    (1024, 1, 1),
)
LOG_SOFTMAX_BACKWARD = Kernel(
    f"void {_SPACE}cunn_SoftMaxBackward<4, float, float, float, {_SPACE}LogSoftMaxBackwardEpilogue>"
    "(float*, float const*, float const*, long)",
    (4096, 1, 1),
    (1024, 1, 1),
)
LOSS = Kernel(
    f"void {_SPACE}nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
    "(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)",
    (1, 1, 1),
    (32, 1, 1),
)
LOSS_BACKWARD = Kernel(
    f"void {_SPACE}nll_loss_backward_reduce_cuda_kernel_2d<float, long>"
    "(float*, float const*, long const*, float const*, float const*, bool, int, int, long, long)",
    (1, 1, 1),
    (32, 1, 1),
)
VECTOR_NORM = Kernel(
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, "
    "unsigned int, float, 4, 4> >(at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, "
    "unsigned int, float, 4, 4>)",
    (64, 1, 1),
    (512, 1, 1),
)

FOREACH_ADAMW: tuple[tuple[str, str, int, int], ...] = (
    # op, functor, tensor lists, times that the parameters' bytes are moved
    ("aten::_foreach_mul_", f"{_SPACE}BinaryOpScalarFunctor<float, 1, 1, 0>", 1, 2),
    ("aten::_foreach_lerp_", f"{_SPACE}TernaryOpScalarFunctor<float, 2, 2, 0>", 2, 3),
    ("aten::_foreach_mul_", f"{_SPACE}BinaryOpScalarFunctor<float, 1, 1, 0>", 1, 2),
    ("aten::_foreach_addcmul_", f"{_SPACE}PointwiseOpScalarFunctor<float, 3, 3, 0>", 3, 4),
    ("aten::_foreach_sqrt", f"{_SPACE}UnaryOpFunctor<float, 2, 1, 1>", 2, 2),
    ("aten::_foreach_div_", f"{_SPACE}BinaryOpScalarFunctor<float, 1, 1, 0>", 1, 2),
    ("aten::_foreach_add_", f"{_SPACE}BinaryOpScalarFunctor<float, 1, 1, 0>", 1, 2),
    ("aten::_foreach_addcdiv_", f"{_SPACE}PointwiseOpScalarFunctor<float, 3, 3, 0>", 3, 4),
)
