"""The command line: thin commands over the packages.  Heavy imports happen inside the command that needs them."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens_tui import __version__
from tracelens_tui.console import err, out, output_failed, write_any_text
from tracelens_tui.errors import UserError
from tracelens_tui.platform_commands import platforms_cli
from tracelens_tui.scope_options import scope_options
from tracelens_tui.trace.scope import Scope

if TYPE_CHECKING:
    from tracelens_tui.analysis.model import Analysis
    from tracelens_tui.app.main import AppOptions
    from tracelens_tui.triage.analyst import MakeAnalyst
    from tracelens_tui.triage.request import TriageRequest

cli = typer.Typer(
    name="tracelens-tui",
    help="Find out in the terminal what to fix first in a GPU profiler trace.",
    epilog="A first argument that is no command is a trace or a run directory to open in the app.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
cli.add_typer(platforms_cli, name="platforms")

ANALYSTS = ("rules", "claude")

TraceArg = Annotated[Path, typer.Argument(metavar="TRACE", help="A profiler trace; - reads standard input.")]
RunArg = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A run directory.")]
PlatformOpt = Annotated[str | None, typer.Option("--platform", metavar="NAME", help="GPU to compare with.")]
ArchOpt = Annotated[Path | None, typer.Option("--arch", metavar="FILE", help="Peaks of a GPU as a JSON file.")]
DeviceOpt = Annotated[
    int | None, typer.Option("--device", metavar="ID", help="GPU to speak of (default: the busiest).")
]
ExtensionOpt = Annotated[
    list[Path] | None,
    typer.Option(
        "--extension", metavar="FILE", help="Your own models and GPUs: a Python file, which is run. Repeatable."
    ),
]
NoCacheOpt = Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep the opened trace in the cache.")]
JsonOpt = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MouseOpt = Annotated[bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal.")]
AsciiOpt = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")]


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 good, 2 a fault of the input, 3 a run without a report."""
    args = list(sys.argv[1:] if argv is None else argv)
    write_any_text()
    try:
        cli(args=_with_open(args), prog_name="tracelens-tui")
    except UserError as error:
        err(f"error: {error}")
        return 2
    except OSError as error:
        if not output_failed(error):
            raise
        err(f"error: standard output cannot be written ({error.strerror}): free space or send it elsewhere")
        return 2
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    return 0


def _with_open(args: list[str]) -> list[str]:
    """Put the ``open`` command in front where the first argument is neither a command nor a global option."""
    known = {command.name or command.callback.__name__ for command in cli.registered_commands if command.callback}
    known |= {group.name for group in cli.registered_groups if group.name}
    if args and (args[0] in known or args[0] in {"--help", "--version"}):
        return args
    return ["open", *args]


@cli.callback(invoke_without_command=True)
def _global(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Find out in the terminal what to fix first in a GPU profiler trace."""
    if version:
        out(f"tracelens-tui {__version__}")
        raise typer.Exit


@cli.command("open", hidden=True)
@scope_options
def open_app(
    target: Annotated[Path | None, typer.Argument(metavar="[TRACE | RUN_DIR]")] = None,
    platform: PlatformOpt = None,
    arch: ArchOpt = None,
    device: DeviceOpt = None,
    extension: ExtensionOpt = None,
    no_cache: NoCacheOpt = False,
    no_mouse: MouseOpt = False,
    ascii_only: AsciiOpt = False,
    scope: Scope | None = None,
) -> None:
    """Open the app on a trace, a run directory or, without an argument, the recent runs."""
    if target is not None:
        _need_lasting(target)
    _need_terminal("the app")
    from tracelens_tui.app.main import run_app

    options = _app_options(platform, arch, device, no_cache, no_mouse, ascii_only)
    run_app(target, options=replace(options, scope=scope, extensions=tuple(extension or ())))


@cli.command()
@scope_options
def triage(
    trace: TraceArg,
    run_dir: Annotated[Path | None, typer.Option("--run-dir", metavar="DIR", help="Where the run is kept.")] = None,
    platform: PlatformOpt = None,
    arch: ArchOpt = None,
    device: DeviceOpt = None,
    extension: ExtensionOpt = None,
    analyst: Annotated[
        str, typer.Option("--analyst", metavar="rules|claude", help="Who writes the findings.")
    ] = "rules",
    model: Annotated[
        str | None, typer.Option("--model", metavar="M", help="Model of claude (default: the best).")
    ] = None,
    tier_model: Annotated[
        list[str] | None,
        typer.Option("--tier-model", metavar="TIER=M", help="Another model for compute, fusion or system. Repeatable."),
    ] = None,
    max_cost: Annotated[
        float, typer.Option("--max-cost", metavar="USD", min=0, help="Most that claude may cost.")
    ] = 10.0,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", min=0, help="Most tokens that claude may use.")
    ] = 6_000_000,
    agent_timeout: Annotated[
        float,
        typer.Option("--agent-timeout", metavar="S", min=1, help="Seconds that one sub-agent of claude may take."),
    ] = 300.0,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=8, help="Sub-agents of claude at a time.")
    ] = 4,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    no_cache: NoCacheOpt = False,
    as_json: JsonOpt = False,
    scope: Scope | None = None,
) -> None:
    """Find what to fix first; the report lands in the run directory."""
    from tracelens_tui.progress import progress
    from tracelens_tui.triage.orchestrator import TriageRequest, run_triage
    from tracelens_tui.triage.request import ClaudeOptions

    if analyst not in ANALYSTS:
        raise UserError(f"--analyst: there is no {analyst!r}; it is rules or claude")
    asks_claude = analyst == "claude"
    claude = ClaudeOptions(
        model=model,
        tier_models=_tier_models(tier_model or []),
        max_usd=max_cost,
        max_tokens=max_tokens,
        agent_timeout_s=agent_timeout,
        concurrency=concurrency,
    )

    request = TriageRequest(
        trace=trace,
        run_dir=run_dir,
        platform=platform,
        arch=arch,
        device=device,
        scope=scope,
        extensions=tuple(extension or ()),
        analyst="claude" if asks_claude else "rules",
        claude=claude if asks_claude else None,
        resume=resume,
        use_cache=not no_cache,
    )
    make = _make_analyst(request)
    with progress(live=sys.stderr.isatty() and not as_json) as listener:
        outcome = run_triage(request, listener=listener, analyst=make)
    if as_json:
        out(json.dumps({"run_dir": str(outcome.run_dir), "status": outcome.status, "message": outcome.message}))
    elif outcome.exit_code == 0:
        out(str(outcome.run_dir / "analysis.md"))
    else:
        err(f"error: {outcome.message}")
    raise typer.Exit(outcome.exit_code)


@cli.command()
def watch(run_dir: RunArg, no_mouse: MouseOpt = False, ascii_only: AsciiOpt = False) -> None:
    """Show a running or finished run; on a pipe, print its progress until it ends."""
    if not run_dir.is_dir():
        raise UserError(f"{run_dir} is no run directory: give the one that `tracelens-tui triage` printed")
    _need_run(run_dir)
    if sys.stdout.isatty():
        from tracelens_tui.app.main import run_app

        run_app(run_dir, options=_app_options(None, None, None, False, no_mouse, ascii_only))
        return
    from tracelens_tui.watching import print_run

    raise typer.Exit(print_run(run_dir))


@cli.command()
@scope_options
def tables(
    trace: TraceArg,
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the tables go.")],
    platform: PlatformOpt = None,
    arch: ArchOpt = None,
    device: DeviceOpt = None,
    extension: ExtensionOpt = None,
    table_format: Annotated[str, typer.Option("--format", metavar="csv|parquet|xlsx")] = "csv",
    no_cache: NoCacheOpt = False,
    scope: Scope | None = None,
) -> None:
    """Write the tables: time split, ops, kernels, roofline, collectives, idle gaps."""
    from tracelens_tui.analysis.tables import write_tables

    analysis = _analysis(trace, platform, arch, device, scope, extension, no_cache)
    analysis.gpu_split(trace)
    for path in write_tables(analysis, out_dir, table_format):
        out(str(path))


@cli.command()
@scope_options
def info(
    trace: TraceArg,
    platform: PlatformOpt = None,
    arch: ArchOpt = None,
    device: DeviceOpt = None,
    extension: ExtensionOpt = None,
    no_cache: NoCacheOpt = False,
    as_json: JsonOpt = False,
    scope: Scope | None = None,
) -> None:
    """Say what a trace holds and whether its data can be trusted."""
    from tracelens_tui.analysis.info import info_lines, trace_info

    analysis = _analysis(trace, platform, arch, device, scope, extension, no_cache)
    if as_json:
        out(json.dumps(trace_info(analysis), ensure_ascii=True, indent=2))
        return
    for line in info_lines(analysis):
        out(line)


@cli.command()
def report(
    run_dir: RunArg,
    out_file: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Export: .md, .json, .html.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Print a run's report, or export it to a file."""
    from tracelens_tui.report.export import export_report, read_report

    _need_run(run_dir)
    if out_file is None:
        out(read_report(run_dir).rstrip("\n"))
        return
    out(str(export_report(run_dir, out_file, overwrite=force)))


@cli.command()
def validate(run_dir: RunArg) -> None:
    """Check a run directory's report against its data: 0 valid, 1 invalid, 2 unreadable."""
    from tracelens_tui.triage.recheck import validate as check

    problems = check(run_dir)
    for problem in problems:
        out(problem)
    out("invalid" if problems else "valid")
    raise typer.Exit(1 if problems else 0)


@cli.command()
def demo(no_mouse: MouseOpt = False, ascii_only: AsciiOpt = False) -> None:
    """Open the app on a generated sample trace; without a terminal, print the report's summary."""
    from tracelens_tui.evals.demo import demo_trace

    trace = demo_trace()
    if sys.stdin.isatty() and sys.stdout.isatty():
        from tracelens_tui.app.main import run_app

        run_app(trace, options=_app_options(None, None, None, False, no_mouse, ascii_only))
        return
    from tracelens_tui.watching import print_demo

    raise typer.Exit(print_demo(trace))


def _analysis(
    trace: Path,
    platform: str | None,
    arch: Path | None,
    device: int | None,
    scope: Scope | None,
    extension: list[Path] | None,
    no_cache: bool,
) -> "Analysis":
    """Open and analyse a trace for the commands that print."""
    from tracelens_tui.analysis.source import open_analysis_of
    from tracelens_tui.stage_bar import stage_bar

    with stage_bar() as progress:
        return open_analysis_of(
            trace,
            platform=platform,
            arch=arch,
            device=device,
            scope=scope,
            extensions=extension or (),
            use_cache=not no_cache,
            progress=progress,
        )


def _app_options(
    platform: str | None, arch: Path | None, device: int | None, no_cache: bool, no_mouse: bool, ascii_only: bool
) -> "AppOptions":
    """The app's options from the command line's."""
    from tracelens_tui.app.main import AppOptions

    return AppOptions(
        platform=platform, arch=arch, device=device, use_cache=not no_cache, mouse=not no_mouse, ascii=ascii_only
    )


def _make_analyst(request: "TriageRequest") -> "MakeAnalyst":
    """Return what makes the analyst of a run; the SDK is imported only where it is asked for."""
    if request.claude is None:
        from tracelens_tui.triage.rules import rules_analyst

        return rules_analyst
    from tracelens_tui.claude.analyst import claude_analyst

    return claude_analyst(request.claude)


def _tier_models(texts: list[str]) -> dict[str, str]:
    """Read ``TIER=MODEL`` texts."""
    wrong = next((text for text in texts if not all(text.partition("="))), None)
    if wrong is not None:
        raise UserError(f"--tier-model: {wrong!r} is not of the form TIER=MODEL, as in compute=claude-opus-5-5")
    return {tier: name for tier, _, name in (text.partition("=") for text in texts)}


def _need_run(run_dir: Path) -> None:
    from tracelens_tui.run.store import RunDir

    RunDir(run_dir).check_run()


def _need_lasting(target: Path) -> None:
    """Refuse what can be read only once: the app reads keys from standard input, and a trace more than once."""
    from tracelens_tui.ingest.streams import is_stream, shown

    if is_stream(target):
        raise UserError(
            f"{shown(target)} can be read only once, and the app needs a file: save the trace to one, or use "
            f"`tracelens-tui triage {target}`, whose run directory keeps a copy that the app can open"
        )


def _need_terminal(what: str) -> None:
    """Refuse to draw on a pipe."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(
            f"{what} needs a terminal: use `tracelens-tui triage TRACE` for the report or `tracelens-tui info TRACE`"
        )
