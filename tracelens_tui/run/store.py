"""The run directory as a place: its layout, reading and writing its files, and which of them are finished."""

import hashlib
import os
import re
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from tracelens_tui.atomic import write_bytes
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import SCHEMA_VERSION, FindingsFile, Tier
from tracelens_tui.run.manifest import RunInfo
from tracelens_tui.run.places import state_dir

Model = TypeVar("Model", bound=BaseModel)

RUN = "run.json"
JOURNAL = "events.jsonl"
LOCK = "run.lock"
TABLES = "perf_report_csvs"
CATEGORY_DATA = "category_data"
MANIFEST = "category_data/category_manifest.json"
METADATA = "metadata"
MODEL_INFO = "metadata/model_info.json"
SYSTEM_FINDINGS = "system_findings"
CATEGORY_FINDINGS = "category_findings"
AGENTS = "agents"
CONTROL = "control"
PRIORITY = "priority_data.json"
REPORT = "analysis.md"
REPORT_JSON = "analysis.json"
CHART = "perf_improvement.png"
FOLDERS = (TABLES, CATEGORY_DATA, METADATA, SYSTEM_FINDINGS, CATEGORY_FINDINGS, AGENTS, CONTROL)


def metrics_file(category: str) -> str:
    """Return the metrics file of a category, relative to the run directory."""
    return f"{CATEGORY_DATA}/{category}_metrics.json"


def ops_file(category: str) -> str:
    """Return the table of a category's ops, relative to the run directory."""
    return f"{CATEGORY_DATA}/{category}_ops.csv"


def metadata_file(category: str) -> str:
    """Return the metadata file of a category, relative to the run directory."""
    return f"{METADATA}/{category}_metadata.json"


def findings_file(category: str, tier: Tier) -> str:
    """Return the findings file of a category; system and fusion findings share a folder."""
    folder = CATEGORY_FINDINGS if tier == "compute" else SYSTEM_FINDINGS
    return f"{folder}/{category}_findings.json"


def table_file(name: str) -> str:
    """Return the CSV of a table, relative to the run directory."""
    return f"{TABLES}/{name}.csv"


class RunDir:
    """A run directory.  Opening one reads nothing; ``info`` and ``read_json`` read when asked.

    One process writes (the holder of the run's lock); its threads may share the object.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._info: RunInfo | None = None

    def __repr__(self) -> str:
        return f"RunDir({str(self.path)!r})"

    @property
    def journal(self) -> Path:
        """The journal's path."""
        return self.path / JOURNAL

    @property
    def lock(self) -> Path:
        """The lock's path."""
        return self.path / LOCK

    @property
    def tables(self) -> Path:
        """The folder of the tables."""
        return self.path / TABLES

    @property
    def report(self) -> Path:
        """The report's path."""
        return self.path / REPORT

    @property
    def info(self) -> RunInfo:
        """What the run is; UserError where ``run.json`` is missing or unreadable."""
        if self._info is None:
            self._info = self.read_json(RUN, RunInfo)
        return self._info

    @classmethod
    def create(cls, path: Path, info: RunInfo) -> "RunDir":
        """Make the directory with its folders and ``run.json``; UserError where a run or anything else is in it.

        A lock may be there already: whoever creates a run takes the lock first.
        """
        run = cls(path)
        run.prepare()
        run.write_json(RUN, info)
        run._info = info
        return run

    def prepare(self) -> None:
        """Make the directory and its folders; UserError where something that is no lock lies in it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            present = [entry.name for entry in self.path.iterdir() if not entry.name.startswith(LOCK)]
            if RUN in present:
                raise UserError(
                    f"{self.path} holds a run already: continue it with --resume or choose another --run-dir"
                )
            if present:
                raise UserError(f"{self.path} is not empty ({present[0]}): choose another --run-dir")
            for folder in FOLDERS:
                (self.path / folder).mkdir()
        except OSError as error:
            raise UserError(f"{self.path}: the run directory cannot be made: {error.strerror}") from error

    def check_resumable(self, info: RunInfo) -> None:
        """Raise UserError where the run was made from another trace or with other options than ``info``."""
        ours = self.info
        pairs = {
            "trace": (ours.trace.fingerprint, info.trace.fingerprint),
            "platform": (ours.platform, info.platform),
            "analyst": (ours.analyst, info.analyst),
            "options": (ours.options, info.options),
            "versions": (ours.versions, info.versions),
        }
        for what, (old, new) in pairs.items():
            if old != new:
                raise UserError(
                    f"{self.path} cannot be resumed: {_difference(what, old, new)}; choose another --run-dir"
                )

    def check_run(self) -> None:
        """Raise UserError unless the directory holds a run, or is empty and may become one."""
        if self.exists(RUN) or self.exists(JOURNAL) or self.exists(LOCK):
            return
        try:
            entries = sorted(self.path.iterdir())
        except OSError as error:
            raise UserError(f"{self.path} is no run directory ({(error.strerror or str(error)).lower()})") from error
        runs = [entry.name for entry in entries if (entry / RUN).is_file()]
        if runs:
            more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
            raise UserError(f"{self.path} is no run directory, but holds some: {', '.join(runs[:3])}{more}; name one")
        if entries:
            raise UserError(f"{self.path} is no run directory: give the one that `tracelens-tui triage` printed")

    def absolute(self, relative: str) -> Path:
        """Return the path of a file of the run; UserError for a path that leads out of the run directory."""
        if relative.startswith("/") or ".." in Path(relative).parts:
            raise UserError(f"{self.path}: {relative!r} is not a path inside the run directory")
        return self.path / relative

    def trace_path(self) -> Path:
        """Return where the trace is now: at its absolute place, else at the same place relative to the run."""
        trace = self.info.trace
        absolute = Path(trace.path)
        if absolute.exists():
            return absolute
        beside = self.path / trace.relative
        if beside.exists():
            return beside
        raise UserError(f"{absolute}: the trace of the run {self.path} is not there any more")

    def write_json(self, relative: str, model: BaseModel) -> Path:
        """Write a model whole or not at all and return the file's path.  Call ``finish`` once it is final."""
        return self.write_bytes(relative, (model.model_dump_json(indent=2) + "\n").encode("utf-8", "replace"))

    def write_text(self, relative: str, text: str) -> Path:
        """Write UTF-8 text whole or not at all and return the file's path."""
        return self.write_bytes(relative, text.encode("utf-8", "replace"))

    def write_bytes(self, relative: str, data: bytes) -> Path:
        """Write a file whole or not at all, making its folder, and return its path."""
        path = self.absolute(relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_bytes(path, data)
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from error
        return path

    def read_json(self, relative: str, schema: type[Model]) -> Model:
        """Return the file's content; UserError that names the file and the place where it is not as it must be."""
        return read_json(self.absolute(relative), schema)

    def exists(self, relative: str) -> bool:
        """Return whether the file is there, finished or not."""
        return self.absolute(relative).is_file()

    def findings_files(self) -> list[str]:
        """Return all findings files by name, system and fusion first."""
        return [
            f"{folder}/{path.name}"
            for folder in (SYSTEM_FINDINGS, CATEGORY_FINDINGS)
            for path in sorted((self.path / folder).glob("*_findings.json"))
        ]

    def read_findings(self) -> dict[str, FindingsFile]:
        """Return the content of every findings file by its relative path."""
        return {name: self.read_json(name, FindingsFile) for name in self.findings_files()}

    def finish(self, *relatives: str) -> None:
        """Record the files as finished: a resumed run takes them as they are."""
        sums = {name: _sha256(self.absolute(name)) for name in relatives}
        self._record(added=sums)

    def forget(self, *relatives: str) -> None:
        """Take the files off the list of finished ones, so that a resumed run makes them again."""
        self._record(removed=set(relatives))

    def finished(self, relative: str) -> bool:
        """Return whether the file was recorded as finished and is still the same."""
        recorded = self.info.files.get(relative)
        path = self.absolute(relative)
        return recorded is not None and path.is_file() and _sha256(path) == recorded

    def _record(self, *, added: Mapping[str, str] = MappingProxyType({}), removed: Collection[str] = ()) -> None:
        with self._guard:
            kept = {name: value for name, value in self.info.files.items() if name not in removed}
            info = self.info.model_copy(update={"files": dict(sorted({**kept, **added}.items()))})
            self.write_json(RUN, info)
            self._info = info


def read_json(path: Path, schema: type[Model]) -> Model:
    """Return the file's content as ``schema``; UserError that names the file and the place of the first fault."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: the file is missing") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        model = schema.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: {place + ': ' if place else ''}{first['msg']}") from None
    version = getattr(model, "schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise UserError(f"{path}: schema_version is {version}; this program reads {SCHEMA_VERSION}")
    return model


def default_run_dir(trace: Path, fingerprint: str, part: str = "") -> Path:
    """Return where a run of the trace, or of a part of it, goes: below the current directory, else the state folder."""
    name = "-".join(filter(None, (_stem(trace), fingerprint[:8], part)))
    here = Path.cwd()
    runs = here / "tracelens_runs"
    writable = os.access(runs if runs.exists() else here, os.W_OK | os.X_OK)
    return (runs if writable else state_dir() / "runs") / name


def _stem(trace: Path) -> str:
    """The file's name without the endings of trace files, in characters that are safe in any path."""
    name = re.sub(r"(\.(json|pt|trace|gz|zst|zip|tgz|tar|pb|xplane|csv|db))+$", "", trace.name, flags=re.IGNORECASE)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")[:80] or "trace"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _difference(what: str, old: object, new: object) -> str:
    """In words what of a run is no longer as it was."""
    if what == "trace":
        return "it was made from another trace, or the trace has changed since"
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in (*old, *new) if old.get(key) != new.get(key)]
        told = [f"{key} was {_told(old.get(key))}, now it is {_told(new.get(key))}" for key in dict.fromkeys(keys)]
        return ", and ".join(told)
    return f"its {what} was {_told(old)}, now it is {_told(new)}"


def _told(value: object) -> str:
    return "not given" if value is None or value == {} else str(value)
