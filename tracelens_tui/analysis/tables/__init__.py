"""The named tables of an analysis, and how they are written.

Where TraceLens has the same table, file name, column names and units are the same; cells that are lists or objects
are JSON.
"""

from pathlib import Path

import polars as pl

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.tables.cells import is_plain, plain_cells
from tracelens_tui.analysis.tables.collectives import coll_analysis
from tracelens_tui.analysis.tables.kernels import kernel_summary, short_kernel_histogram, short_kernels_summary
from tracelens_tui.analysis.tables.launchers import ops_summary, ops_summary_by_category, ops_unique_args
from tracelens_tui.analysis.tables.launches import launch_stats
from tracelens_tui.analysis.tables.own import idle_gaps, kernel_launchers, memcpy_summary, quality
from tracelens_tui.analysis.tables.timeline import gpu_timeline, overlap_summary, step_timeline
from tracelens_tui.analysis.tables.unified import unified_perf_summary
from tracelens_tui.analysis.tables.work import gpu_work
from tracelens_tui.analysis.tables.write import FORMATS, write_frames

__all__ = ["FORMATS", "TABLES", "all_tables", "write_tables"]

TABLES = {
    "gpu_timeline": gpu_timeline,
    "ops_summary_by_category": ops_summary_by_category,
    "ops_summary": ops_summary,
    "ops_unique_args": ops_unique_args,
    "unified_perf_summary": unified_perf_summary,
    "kernel_summary": kernel_summary,
    "coll_analysis": coll_analysis,
    "short_kernel_histogram": short_kernel_histogram,
    "short_kernels_summary": short_kernels_summary,
    "kernel_launchers": kernel_launchers,
    "step_timeline": step_timeline,
    "overlap_summary": overlap_summary,
    "launch_stats": launch_stats,
    "idle_gaps": idle_gaps,
    "memcpy_summary": memcpy_summary,
    "quality": quality,
}
"""Table name → the function that makes it, in the order of the files."""


def all_tables(analysis: Analysis) -> dict[str, pl.DataFrame]:
    """Return every table by name, all text plain; a table without rows keeps its columns."""
    work = gpu_work(analysis)
    tables = {name: make(work) for name, make in TABLES.items()}
    if is_plain(analysis.trace):
        return tables
    return {name: plain_cells(table) for name, table in tables.items()}


def write_tables(analysis: Analysis, out_dir: Path, fmt: str = "csv") -> list[Path]:
    """Write every table into ``out_dir`` as csv, parquet or one xlsx workbook; return the paths.

    Raises UserError where the folder cannot be written or the format is not available.
    """
    return write_frames(all_tables(analysis), out_dir, fmt)
