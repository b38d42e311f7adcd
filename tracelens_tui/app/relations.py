"""What an event is related to beside its parents: its forward or backward op, recomputation, modules, annotations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.cells import count_of
from tracelens_tui.app.details import Paragraph
from tracelens_tui.text import duration
from tracelens_tui.trace.annotations import annotation_table, annotations_around
from tracelens_tui.trace.autograd import AutogradLinks, autograd_links
from tracelens_tui.trace.navigate import module_chain, name_of
from tracelens_tui.trace.partners import backward_below, linked_around
from tracelens_tui.trace.recompute import Recompute, recomputed
from tracelens_tui.trace.tree import EventTree


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of all events of a trace."""

    links: AutogradLinks
    recompute: Recompute
    again_ns: NDArray[np.int64]  # recomputed GPU time in the subtree of each event
    annotations: pl.DataFrame


def relations_of(analysis: Analysis) -> Relations:
    """Return the relations between the events of an analysis."""
    trace, tree = analysis.trace, analysis.tree
    recompute = recomputed(trace, tree)
    times = np.where(recompute.events & (tree.launch >= 0), trace.events["dur_ns"].to_numpy(), 0)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(times[tree.order])))
    again_ns = before[tree.position + tree.size] - before[tree.position]
    return Relations(autograd_links(trace, tree), recompute, again_ns, annotation_table(trace, tree))


def relation_details(analysis: Analysis, relations: Relations, event: int) -> list[Paragraph]:
    """Return what the detail of an event says of its relations; nothing where it has none."""
    linked = linked_around(relations.links, relations.recompute.events, analysis.tree, event)
    found = (
        *(_partner(analysis, relations, event, linked) if linked >= 0 else _below(analysis, relations, event)),
        *_again(relations.recompute, event),
        *_launched(relations.annotations, event),
        *_around(analysis, relations, event, linked),
    )
    return list(found)


def _partner(analysis: Analysis, relations: Relations, event: int, linked: int) -> Iterator[Paragraph]:
    """The forward or the backward op of the event or of the one around it that has one."""
    trace, links = analysis.trace, relations.links
    label, partner = ("Forward", links.forward) if links.forward[linked] >= 0 else ("Backward", links.backward)
    other = int(partner[linked])
    owner = "" if linked == event else f" (of {name_of(trace, linked)} around it)"
    work = _work(analysis.tree, relations, partner[linked : linked + 1])
    yield Paragraph(label, f"{name_of(trace, other)}{owner} with {work}; b goes there")


def _below(analysis: Analysis, relations: Relations, event: int) -> Iterator[Paragraph]:
    """The backward ops of what is below the event."""
    backward = backward_below(relations.links, analysis.tree, event)
    if len(backward):
        work = _work(analysis.tree, relations, backward)
        count = count_of(len(backward), "op")
        yield Paragraph("Backward", f"of what is below it: {count} with {work}; b goes to the costliest")


def _work(tree: EventTree, relations: Relations, ops: NDArray[np.int32]) -> str:
    """The GPU work below ops, and how much of it is recomputation that they do not do for themselves."""
    again = int(relations.again_ns[ops[~relations.recompute.events[ops]]].sum())
    text = _gpu_text(int(tree.gpu_ns[ops].sum()), int(tree.gpu_count[ops].sum()))
    return f"{text}, {duration(again)} of it recomputation" if again else text


def _gpu_text(gpu_ns: int, count: int) -> str:
    return f"{duration(gpu_ns)} in {count_of(count, 'GPU event')}" if count else "no GPU work"


def _again(recompute: Recompute, event: int) -> Iterator[Paragraph]:
    if recompute.events[event]:
        how = " (told from the ops: no Python frame says so)" if recompute.inferred[event] else ""
        yield Paragraph("Again", f"recomputed in the backward pass, by activation checkpointing{how}")


def _launched(annotations: pl.DataFrame, event: int) -> Iterator[Paragraph]:
    """The GPU work that is launched in an annotation."""
    row = next(annotations.filter(pl.col("event") == event).iter_rows(named=True), None)
    if row is None or not row["gpu_count"]:
        return
    span = duration(row["gpu_end_ns"] - row["gpu_start_ns"])
    kernels = count_of(row["kernels"], "kernel")
    yield Paragraph(
        "Launched",
        f"in it, by any thread: {_gpu_text(row['gpu_ns'], row['gpu_count'])} ({kernels}), "
        f"within {span} on the GPU from {_after(row['gpu_start_ns'] - row['start_ns'])} its start",
    )


def _after(ns: int) -> str:
    return f"{duration(abs(ns))} {'after' if ns >= 0 else 'before'}"


def _around(analysis: Analysis, relations: Relations, event: int, linked: int) -> Iterator[Paragraph]:
    """Modules and annotations; of a backward op the modules are those of its forward op."""
    trace, tree = analysis.trace, analysis.tree
    forward = int(relations.links.forward[linked]) if linked >= 0 else -1
    modules = module_chain(trace, tree, event) or (module_chain(trace, tree, forward) if forward >= 0 else [])
    if modules:
        yield Paragraph("Module", "/".join(modules))
    marks = annotations_around(trace, tree, relations.annotations, event)
    if marks:
        yield Paragraph("During", " › ".join(marks))
