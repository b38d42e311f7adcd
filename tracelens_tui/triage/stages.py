"""The stages of a triage, in order."""

from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.report.render import write_report
from tracelens_tui.run import events as ev
from tracelens_tui.run.category_files import CategoryMetrics
from tracelens_tui.run.findings import PriorityData
from tracelens_tui.run.manifest import CategoryManifest
from tracelens_tui.run.recent import remember
from tracelens_tui.run.store import (
    AGENTS,
    CATEGORY_DATA,
    MANIFEST,
    METADATA,
    MODEL_INFO,
    PRIORITY,
    REPORT,
    REPORT_JSON,
    RUN,
    TABLES,
    RunDir,
    metrics_file,
)
from tracelens_tui.triage.agent_stage import run_agents
from tracelens_tui.triage.analyst import Analyst
from tracelens_tui.triage.evidence import assignments, packs
from tracelens_tui.triage.failures import TriageError
from tracelens_tui.triage.model_evidence import EVIDENCE, ModelEvidence
from tracelens_tui.triage.model_identification import identify
from tracelens_tui.triage.places import run_info
from tracelens_tui.triage.plan import decisions
from tracelens_tui.triage.prepare import prepare
from tracelens_tui.triage.rank import priority_data
from tracelens_tui.triage.recheck import validate
from tracelens_tui.triage.request import TriageRequest
from tracelens_tui.triage.session import Session

_PREPARED = tuple(f"{folder}/" for folder in (TABLES, CATEGORY_DATA, METADATA, AGENTS))
_SHOWN_PROBLEMS = 3


def run_stages(session: Session, request: TriageRequest, analyst: Analyst) -> None:
    """Go through the stages; raises UserError for bad input, TriageError where no report can be made."""
    manifest = _load_and_prepare(session, request)
    _plan(session, manifest)
    _agents(session, manifest, analyst)
    _rank(session, manifest)
    _model(session)
    _report(session)
    _validate(session)


def _load_and_prepare(session: Session, request: TriageRequest) -> CategoryManifest:
    """Load the trace and write what the rest reads, unless that was finished before."""
    run = session.run
    if run.exists(RUN) and _prepared(run):
        for stage in ("load", "prepare"):
            with session.stage(stage, reused=True):
                pass
        remember(run)
        return run.read_json(MANIFEST, CategoryManifest)
    with session.stage("load"):
        analysis, split = _load(session, request)
    with session.stage("prepare"):
        run.finish(*prepare(run, analysis, split, request.trace))
    return run.read_json(MANIFEST, CategoryManifest)


def _prepared(run: RunDir) -> bool:
    """True where everything that the prepare stage made is there and unchanged."""
    made = [name for name in run.info.files if name.startswith(_PREPARED)]
    return run.finished(MANIFEST) and all(run.finished(name) for name in made)


def _load(session: Session, request: TriageRequest) -> tuple[Analysis, TimeSplit]:
    """Open the trace and write ``run.json``."""
    run = session.run
    analysis = open_analysis_of(
        request.trace,
        platform=request.platform,
        arch=request.arch,
        device=request.device,
        scope=request.scope,
        extensions=request.extensions,
        use_cache=request.use_cache,
        progress=lambda stage, done, total: session.progress("load", done, total, stage),
    )
    split = analysis.gpu_split(request.trace)
    if not run.exists(RUN):
        platform = analysis.platform.name if analysis.platform else None
        run.write_json(RUN, run_info(request, run.path, session.run_id, platform, analysis.platform_note))
    remember(run)
    return analysis, split


def _plan(session: Session, manifest: CategoryManifest) -> None:
    """Tell which sub-agents run, and why."""
    with session.stage("plan"):
        for one in decisions(manifest):
            event = ev.AgentPlanned if one.planned else ev.AgentSkipped
            session.emit(
                event(
                    agent=one.agent.id,
                    category=one.category,
                    tier=one.tier,
                    rule=one.rule,
                    number=one.number,
                    unit=one.unit,
                )
            )


def _agents(session: Session, manifest: CategoryManifest, analyst: Analyst) -> None:
    run = session.run
    with session.stage("agents"):
        found = assignments(run, manifest)
        for path, pack in packs(found).items():
            if not run.finished(path):
                run.write_json(path, pack)
                run.finish(path)
        run_agents(session, analyst, found)


def _rank(session: Session, manifest: CategoryManifest) -> None:
    run = session.run
    with session.stage("rank"):
        compute = [category.name for category in manifest.categories if category.tier == "compute_kernel"]
        metrics = {name: run.read_json(metrics_file(name), CategoryMetrics) for name in compute}
        run.write_json(PRIORITY, priority_data(manifest, metrics, run.read_findings().values()))
        run.finish(PRIORITY)


def _model(session: Session) -> None:
    run = session.run
    with session.stage("model"):
        run.write_json(MODEL_INFO, identify(run.read_json(EVIDENCE, ModelEvidence)))
        run.finish(MODEL_INFO)


def _report(session: Session) -> None:
    run = session.run
    with session.stage("report"):
        write_report(run)
        run.finish(REPORT, REPORT_JSON)
    findings = len(run.read_json(PRIORITY, PriorityData).findings)
    session.emit(ev.ReportWritten(file=REPORT, findings=findings))


def _validate(session: Session) -> None:
    """Check the run against itself, as ``tracelens-tui validate`` does."""
    with session.stage("validate"):
        problems = validate(session.run.path)
        if problems:
            more = f" and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
            raise TriageError(f"the run is not valid: {'; '.join(problems[:_SHOWN_PROBLEMS])}{more}")
