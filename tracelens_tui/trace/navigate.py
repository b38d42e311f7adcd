"""Ways through the EventTree: what surrounds an event, what it caused, what was active at a time."""

import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, Kind, Trace

Int64 = NDArray[np.int64]

_MODULE = re.compile(r"^nn\.Module: (.+)$")


def name_of(trace: Trace, event: int) -> str:
    """Return the name of an event, as the file has it."""
    return trace.names[int(trace.events["name"][event])]


def kind_of(trace: Trace, event: int) -> Kind:
    """Return the kind of an event."""
    return Kind(int(trace.events["kind"][event]))


def origin_ns(trace: Trace) -> int:
    """Return where the first GPU work begins: the window's start, and the zero of ``--time``; 0 without GPU work."""
    gpu = np.isin(trace.events["kind"].to_numpy(), GPU_KINDS)
    return int(trace.events["start_ns"].to_numpy()[gpu].min()) if gpu.any() else 0


def roots(tree: EventTree) -> NDArray[np.int32]:
    """Return the events that nothing owns, in preorder."""
    return tree.order[tree.depth[tree.order] == 0]


def host_path(trace: Trace, tree: EventTree, event: int, kinds: tuple[Kind, ...] = HOST_KINDS) -> list[int]:
    """Return the ancestors of an event that have one of the kinds, outermost first; the event itself is not among."""
    kind = trace.events["kind"].to_numpy()
    return [above for above in reversed(tree.ancestors(event)) if kind[above] in kinds]


def module_chain(trace: Trace, tree: EventTree, event: int) -> list[str]:
    """Return the ``nn.Module`` instances around an event, outermost first, such as ``["Net_0", "Linear_3"]``.

    Empty where Python stacks were not recorded or no module was running.
    """
    frames = (name_of(trace, above) for above in host_path(trace, tree, event, (Kind.PYTHON_FUNCTION,)))
    return [found[1] for frame in frames if (found := _MODULE.match(frame))]


def call_stack(trace: Trace, tree: EventTree, event: int) -> list[str]:
    """Return the Python functions around an event, outermost first, without the lines of ``nn.Module`` instances."""
    frames = (name_of(trace, above) for above in host_path(trace, tree, event, (Kind.PYTHON_FUNCTION,)))
    return [frame for frame in frames if not _MODULE.match(frame)]


def annotation_chain(trace: Trace, tree: EventTree, event: int) -> list[str]:
    """Return the user annotations around an event, outermost first."""
    return [name_of(trace, above) for above in host_path(trace, tree, event, (Kind.USER_ANNOTATION,))]


def gpu_events(tree: EventTree, event: int) -> NDArray[np.int32]:
    """Return the GPU events below an event, itself included, in preorder."""
    below = tree.subtree(event)
    return below[(tree.gpu_count[below] == 1) & (tree.size[below] == 1)]


def hot_path(tree: EventTree, event: int) -> list[int]:
    """Return the events from ``event`` down to a leaf, each the child with the most GPU time (ties: the first)."""
    path = [event]
    while children := tree.children(path[-1]):
        best = max(children, key=lambda child: int(tree.gpu_ns[child]))
        if not tree.gpu_ns[best]:
            break
        path.append(best)
    return path


def innermost_at(trace: Trace, tree: EventTree, thread: Int64, time: Int64) -> Int64:
    """Return for each (thread code, time) the deepest host event that is active then, -1 where there is none."""
    events = trace.events
    start = events["start_ns"].to_numpy()
    end = start + events["dur_ns"].to_numpy()
    host = tree.order[np.isin(events["kind"].to_numpy(), HOST_KINDS)[tree.order]]
    owner = events["thread"].to_numpy()[host]
    found = np.full(len(thread), -1, np.int64)
    bounds = np.append(np.flatnonzero(np.diff(owner.astype(np.int64), prepend=-1)), len(owner))
    wanted = set(np.unique(thread).tolist())
    for low, high in pairwise(bounds.tolist()):
        if int(owner[low]) in wanted:
            mine = thread == owner[low]
            place = np.searchsorted(start[host[low:high]], time[mine], "right")
            found[mine] = np.where(place > 0, host[low + np.maximum(place - 1, 0)], -1)
    while (closed := (found >= 0) & (end[found] <= time)).any():
        found[closed] = tree.parent[found[closed]]
    return found
