"""The ``platforms`` commands: list and show the known GPUs, measure the one at hand."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tracelens_tui.console import err, out

platforms_cli = typer.Typer(help="The GPUs whose peaks are known.", invoke_without_command=True, rich_markup_mode=None)


@platforms_cli.callback()
def platforms(context: typer.Context) -> None:
    """List the GPUs whose peaks are known."""
    if context.invoked_subcommand is None:
        list_platforms()


@platforms_cli.command("list")
def list_platforms() -> None:
    """List the GPUs whose peaks are known."""
    from tracelens_tui.perf.platforms import all_platforms

    out(f"{'name':<22} {'vendor':<7} {'arch':<8} {'memory GB':>9} {'GB/s':>7} {'bf16 TFLOPS':>11}")
    for entry in all_platforms():
        bf16 = entry.roof_tflops("matrix_bf16")
        out(
            f"{entry.name:<22} {entry.vendor:<7} {entry.arch:<8} {entry.memory_gb or 0:>9.0f} "
            f"{entry.mem_bw_gbps:>7.0f} {'n/a' if bf16 is None else format(bf16, '.0f'):>11}"
        )


@platforms_cli.command("show")
def show_platform(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Show one GPU: every figure with its grade and source."""
    from tracelens_tui.perf.platforms import load_platform

    entry = load_platform(name)
    out(f"{entry.name} ({entry.vendor}, {entry.arch}), {entry.mem_bw_gbps:.0f} GB/s nameplate")
    for spec, peak in entry.peaks.items():
        sheet = "n/a" if peak.datasheet is None else f"{peak.datasheet:g}"
        roof = "n/a" if peak.roof is None else f"{peak.roof:g}"
        out(f"  {spec:<14} roof {roof:>8}  datasheet {sheet:>8}  grade {peak.grade or '-':<8} {peak.source}")
    for note in entry.notes:
        out(f"  note: {note}")


@platforms_cli.command("measure")
def measure_platform(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the figures go, as a file for --arch.")],
) -> None:
    """Measure this machine's GPU with PyTorch (about a minute) and write the peaks as a file for --arch."""
    from tracelens_tui.atomic import write_text
    from tracelens_tui.errors import UserError
    from tracelens_tui.perf.measure import Measured, arch_file, find_torch, measure
    from tracelens_tui.text import plain

    if not file.parent.is_dir():
        raise UserError(f"{file}: its directory does not exist; make it or name another place")
    torch = find_torch()
    name = plain(str(torch.cuda.get_device_name(0)), 60)
    err(f"{name}: nothing else should run on it now")
    results: list[Measured] = []
    for one in measure(torch):
        unit = "GB/s" if one.spec == "copy" else "TFLOPS"
        err(f"  {one.spec:<12} {'n/a' if one.value is None else f'{one.value:,.1f} {unit}':>16}  {one.how or one.why}")
        results.append(one)
    memory_gb = float(torch.cuda.get_device_properties(0).total_memory) / 2**30
    write_text(file, json.dumps(arch_file(name, memory_gb, results), indent=2) + "\n")
    out(f"wrote {file}; use it with --arch {file}")
