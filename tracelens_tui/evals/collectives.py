"""Collectives of a generated trace: the host's record_param_comms and the RCCL kernel that runs on its own stream."""

from dataclasses import dataclass

from tracelens_tui.evals import kernels
from tracelens_tui.evals.device import GpuSpan, Stream
from tracelens_tui.evals.host import HostThread
from tracelens_tui.evals.values import COLLECTIVE_TYPES, SIZES, Tensor


@dataclass(frozen=True, slots=True)
class Collective:
    """One kind of collective: names on the host, in the arguments, and the factor of its bus bandwidth."""

    op: str  # c10d dispatcher op
    name: str  # "Collective name"
    annotation: str

    def wire_bytes(self, size: int, ranks: int) -> float:
        """Return the bytes that each rank sends, of a message of ``size`` bytes (the larger of input and output)."""
        return size * (ranks - 1) / ranks * (2 if self.name == "allreduce" else 1)


ALL_REDUCE = Collective("c10d::allreduce_", "allreduce", "nccl:all_reduce")
REDUCE_SCATTER = Collective("c10d::_reduce_scatter_base_", "_reduce_scatter_base", "nccl:_reduce_scatter_base")
ALL_GATHER = Collective("c10d::_allgather_base_", "_allgather_base", "nccl:_all_gather_base")


def run_collective(
    host: HostThread,
    kind: Collective,
    message: Tensor,
    streams: tuple[Stream, Stream],
    *,
    ranks: int,
    bus_gbps: float,
) -> GpuSpan:
    """Run a collective of ``message`` (the full, unsharded tensor) at ``bus_gbps`` of bus bandwidth.

    ``streams`` are the compute stream, whose queued work it waits for, and the stream that it runs on.
    """
    compute, comm = streams
    shard = Tensor((message.shape[0] // ranks,), message.dtype)
    given, returned = {
        "allreduce": (message, message),
        "_reduce_scatter_base": (message, shard),
        "_allgather_base": (shard, message),
    }[kind.name]
    dur_ns = round(kind.wire_bytes(message.shape[0] * SIZES[message.dtype], ranks) / bus_gbps)
    fields = _fields(kind.name, given, returned, ranks)
    args = ((given,), None, None, "0", None, "[]", "[]", "0", "1", str(ranks))
    with host.op(kind.op, (returned, given, None, None, "False", "-1")):
        host.spend(8_000)
        with host.op("record_param_comms", args, extra=f", {fields}"):
            host.call("hipStreamIsCapturing", 340)
            host.call("hipEventRecord", 1_200)
            host.call("hipStreamWaitEvent", 1_700)
            comm.wait_for(compute)
            with host.annotation(kind.annotation, (given,)):
                host.call("hipStreamGetCaptureInfo", 400)
                return host.launch(kernels.rccl(), comm, dur_ns, role="comm", extra=f", {fields}")


def wait(host: HostThread, compute: Stream, comm: Stream) -> None:
    """Let the compute stream wait for the communication stream."""
    host.call("hipStreamWaitEvent", 1_500)
    compute.wait_for(comm)


def _fields(name: str, given: Tensor, returned: Tensor, ranks: int) -> str:
    group = str(list(range(ranks)))
    return (
        f'"Collective name": "{name}", "In msg nelems": {given.shape[0]}, "Out msg nelems": {returned.shape[0]}, '
        f'"Group size": {ranks}, "dtype": "{COLLECTIVE_TYPES[given.dtype]}", "In split size": "[]", '
        f'"Out split size": "[]", "Global rank start": 0, "Global rank stride": 1, "Process Group Name": "0", '
        f'"Process Group Description": "default_pg", "Process Group Ranks": "{group}", "Rank": 0'
    )
