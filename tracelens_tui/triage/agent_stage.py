"""The agents stage: every sub-agent on its category, side by side, each result checked and on disk at once."""

import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from tracelens_tui.report.findings_check import check_findings
from tracelens_tui.report.render import write_findings
from tracelens_tui.run import events as ev
from tracelens_tui.run.findings import Finding, FindingsFile
from tracelens_tui.run.store import AGENTS, RunDir, findings_file
from tracelens_tui.triage.analyst import Analyst
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.failures import Cancelled, TriageError
from tracelens_tui.triage.session import Session

WORKERS = 8
TICK_S = 0.2


def run_agents(session: Session, analyst: Analyst, found: Sequence[Assignment]) -> None:
    """Work through the assignments; those whose findings are finished on disk are taken as they are.

    A sub-agent that fails, or that a viewer stops, leaves a findings file that says so; the others go on.  Raises
    Cancelled where the whole triage was stopped.
    """
    open_ = [one for one in found if not _reused(session, one)]
    with ThreadPoolExecutor(min(WORKERS, max(1, len(open_))), thread_name_prefix="agent") as pool:
        futures = {pool.submit(_work, session, analyst, one): one for one in open_}
        try:
            _gather(session, futures)
        except BaseException:
            session.stop()  # the pool waits for those that are at work
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def paths_of(assignment: Assignment) -> tuple[str, str]:
    """Return the findings file of an assignment and its Markdown."""
    path = findings_file(assignment.category, assignment.agent.tier)
    return path, f"{path.removesuffix('.json')}.md"


def _gather(session: Session, futures: Mapping[Future[None], Assignment]) -> None:
    waiting = set(futures)
    while waiting:
        session.check()
        done, waiting = wait(waiting, timeout=TICK_S, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()


def _reused(session: Session, assignment: Assignment) -> bool:
    """True where the findings are finished; the journal of this process tells them once more."""
    run = session.run
    path, markdown = paths_of(assignment)
    if not (run.finished(path) and run.finished(markdown)):
        return False
    file = run.read_json(path, FindingsFile)
    _started(session, assignment, file.analyst)
    _tell(session, assignment, file, 0.0, reused=True)
    return True


def _work(session: Session, analyst: Analyst, assignment: Assignment) -> None:
    """One sub-agent from start to end, in a thread of its own."""
    agent = assignment.agent.id
    _started(session, assignment, analyst.name)
    begun = time.monotonic()
    try:
        session.check_agent(agent)
        file = _accepted(session, assignment, analyst.analyse(assignment))
        session.check_agent(agent)
    except Cancelled as stop:
        _fail(session, analyst, assignment, str(stop), cancelled=True)
        return
    except TriageError as error:
        _fail(session, analyst, assignment, str(error))
        return
    except Exception as error:  # noqa: BLE001 — a sub-agent's bug must not take the others with it; it is told and kept
        trouble = "".join(traceback.format_exception(error))
        session.run.write_text(f"{AGENTS}/{agent}/{assignment.category}_error.txt", trouble)
        _fail(session, analyst, assignment, f"internal error: {type(error).__name__}: {error}")
        return
    _keep(session.run, assignment, file)
    session.run.finish(*paths_of(assignment))
    _tell(session, assignment, file, time.monotonic() - begun)


def _accepted(session: Session, assignment: Assignment, file: FindingsFile) -> FindingsFile:
    """Return the file with the findings that pass every check; the journal tells about the others."""
    problems = check_findings(file, session.run)
    kept: list[Finding] = []
    for finding in file.findings:
        own = [problem for problem in problems if problem.startswith(f"{finding.id}: ")]
        if not own:
            kept.append(finding)
        for problem in own:
            session.emit(
                ev.FindingRejected(
                    agent=assignment.agent.id,
                    category=assignment.category,
                    title=finding.title,
                    check=problem.removeprefix(f"{finding.id}: "),
                )
            )
    ids = tuple(f"{finding.id}: " for finding in file.findings)
    general = [problem for problem in problems if not problem.startswith(ids)] if ids else problems
    if general:
        raise TriageError(f"the findings file is not valid: {general[0]}")
    return file.model_copy(update={"findings": kept})


def _started(session: Session, assignment: Assignment, analyst: str) -> None:
    session.emit(ev.AgentStarted(agent=assignment.agent.id, category=assignment.category, analyst=analyst))


def _tell(
    session: Session, assignment: Assignment, file: FindingsFile, seconds: float, *, reused: bool = False
) -> None:
    """Tell the journal about the findings on disk and the end of the sub-agent."""
    agent, category = assignment.agent.id, assignment.category
    for finding in file.findings:
        session.emit(
            ev.FindingAdded(
                agent=agent,
                category=category,
                finding=finding.id,
                tier=finding.tier,
                title=finding.title,
                mid=finding.impact.mid,
                file=paths_of(assignment)[0],
            )
        )
    session.emit(
        ev.AgentFinished(agent=agent, category=category, findings=len(file.findings), seconds=seconds, reused=reused)
    )


def _fail(session: Session, analyst: Analyst, assignment: Assignment, reason: str, *, cancelled: bool = False) -> None:
    """Leave a findings file that says what happened; it is not finished, so a resumed run tries again."""
    file = FindingsFile(
        agent=assignment.agent.id,
        analyst=analyst.name,
        category=assignment.category,
        display_name=assignment.entry.display_name,
        tier=assignment.agent.tier,
        status="error",
        message=reason,
        findings=[],
    )
    _keep(session.run, assignment, file)
    session.emit(
        ev.AgentFailed(agent=assignment.agent.id, category=assignment.category, reason=reason, cancelled=cancelled)
    )


def _keep(run: RunDir, assignment: Assignment, file: FindingsFile) -> None:
    path = paths_of(assignment)[0]
    run.write_json(path, file)
    write_findings(run, path)
