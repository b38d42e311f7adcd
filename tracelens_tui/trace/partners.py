"""From any event to the backward of its forward, or the forward of its backward.

What a node recomputes lies below the node and is no part of its gradient: ``again`` says what that is.
"""

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.trace.autograd import AutogradLinks
from tracelens_tui.trace.tree import EventTree, Int32

Bool = NDArray[np.bool_]


def linked_around(links: AutogradLinks, again: Bool, tree: EventTree, event: int) -> int:
    """Return the event itself or the nearest one around it that has a partner, -1 where none has.

    Of a recomputed event only what is recomputed too counts.
    """
    around = (one for one in (event, *tree.ancestors(event)) if links.forward[one] >= 0 or links.backward[one] >= 0)
    found = next(around, -1)
    return -1 if found >= 0 and again[event] and not again[found] else found


def partner_of(links: AutogradLinks, again: Bool, tree: EventTree, event: int) -> int:
    """Return the partner of an event, of the nearest one around it that has one or, failing these, of one below it.

    Of several below it is the backward op with the most GPU time (ties: the first).  -1 where there is none.
    """
    linked = linked_around(links, again, tree, event)
    if linked >= 0:
        return int(links.forward[linked] if links.forward[linked] >= 0 else links.backward[linked])
    below = backward_below(links, tree, event)
    return int(below[np.argmax(tree.gpu_ns[below])]) if len(below) else -1


def backward_below(links: AutogradLinks, tree: EventTree, event: int) -> Int32:
    """Return the backward ops of all forward ops in a subtree, in preorder; none lies inside another."""
    backward = links.backward[tree.subtree(event)]
    backward = backward[backward >= 0]
    backward = backward[np.argsort(tree.position[backward])]
    start = tree.position[backward]
    end = np.maximum.accumulate(start + tree.size[backward])
    return backward[start >= np.concatenate((np.zeros(1, np.int32), end))[: len(start)]]
