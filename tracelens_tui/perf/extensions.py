"""Perf models, categories and GPUs of the user's own, without a change to this package.

An extension is a Python module with any of

* ``MODELS``: :class:`~tracelens_tui.perf.types.OpModel` objects; they win over built-in ones of the same name,
* ``CATEGORIES``: a mapping from op name to display category,
* ``PLATFORMS``: :class:`~tracelens_tui.perf.platform_types.Platform` objects, for ``--platform`` and for detection.

It is a file that the user names (``--extension FILE``), or a module that an installed package announces under the entry
point group ``tracelens_tui.extensions``.  Either is code that the user chose to run; nothing in a trace or a run
directory can name one.  What is wrong with it, on loading or later in a model, is a UserError.
"""

import hashlib
import importlib.abc
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from tracelens_tui.errors import UserError
from tracelens_tui.perf.platform_types import Platform
from tracelens_tui.perf.registry import Registry, default_registry
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.text import plain

GROUP = "tracelens_tui.extensions"
_PARTS = ("MODELS", "CATEGORIES", "PLATFORMS")


@dataclass(frozen=True, slots=True)
class Extensions:
    """What all extensions add; later ones win."""

    models: tuple[OpModel, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)  # by op name
    platforms: tuple[Platform, ...] = ()

    def registry(self) -> Registry:
        """Return the built-in models with these."""
        if not self.models and not self.categories:
            return default_registry()
        return default_registry().extended(self.models, self.categories)


def load_extensions(files: Sequence[Path] = ()) -> Extensions:
    """Run the installed extensions, then those files, and return what they add.

    UserError with the file, the line and the mend where one cannot be run or does not say what it should.
    """
    loaded = [_installed(point) for point in _entry_points()] + [_from_file(path) for path in files]
    categories: dict[str, str] = {}
    for one in loaded:
        categories |= one.categories
    return Extensions(
        tuple(model for one in loaded for model in one.models),
        categories,
        tuple(platform for one in loaded for platform in one.platforms),
    )


def extension_record(files: Sequence[Path] = ()) -> dict[str, list[str]]:
    """Return what tells extensions apart, without running them: a run keeps it.  Empty where there are none.

    ``installed`` are names with the version of their package, ``files`` SHA-256 sums.
    """
    record = {
        "installed": [f"{point.name} {_version(point)}" for point in _entry_points()],
        "files": [hashlib.sha256(_source(path)).hexdigest() for path in files],
    }
    return {kind: entries for kind, entries in record.items() if entries}


def _entry_points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def _version(point: EntryPoint) -> str:
    return "" if point.dist is None else f"({point.dist.name} {point.dist.version})"


def _installed(point: EntryPoint) -> Extensions:
    where = f"extension {plain(point.name, 60)} {_version(point)}".rstrip()
    return _checked(_run(where, point.load), where)


def _from_file(path: Path) -> Extensions:
    source = _source(path)
    name = f"tracelens_tui_extension_{hashlib.sha256(source).hexdigest()[:16]}"

    def load() -> ModuleType:
        loader = _Loader(str(path), source)
        spec = importlib.util.spec_from_loader(name, loader, origin=str(path))
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # where dataclasses and pickles of the module look for it
        loader.exec_module(module)
        return module

    return _checked(_run(str(path), load), str(path))


class _Loader(importlib.abc.SourceLoader):
    """Loads a module from source that was read already, and writes no byte code beside it."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path = path
        self._source = source

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str) -> bytes:
        return self._source


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give --extension a Python file") from error


def _run(where: str, load: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the user's code gives
    try:
        return load()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{where}: {_fault(error)}; mend the extension") from error


def _fault(error: Exception) -> str:
    """The line of the user's code, the kind of fault and what it says."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {type(error).__name__}: {plain(str(error.msg), 200)}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"line {frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {plain(str(error), 200)}"


def _checked(module: object, where: str) -> Extensions:
    """What a module defines; UserError where that is nothing, or something else than it should be."""
    models, categories, platforms = (getattr(module, part, None) for part in _PARTS)
    if models is categories is platforms is None:
        raise UserError(f"{where}: defines none of {', '.join(_PARTS)}; see docs/extensions.md")
    ours = [_model(model, where) for model in _items(models, OpModel, "MODELS", where)]
    named = {name: model.category for model in ours if model.category != BY_KERNEL for name in model.names}
    return Extensions(
        tuple(ours),
        named | _categories(categories, where),
        tuple(_platform(platform, where) for platform in _items(platforms, Platform, "PLATFORMS", where)),
    )


def _items(found: Any, kind: type, part: str, where: str) -> list[Any]:  # noqa: ANN401 - whatever the user's code gives
    if found is None:
        return []
    items = list(found) if isinstance(found, Iterable) else [found]
    for index, item in enumerate(items):
        if not isinstance(item, kind):
            raise UserError(
                f"{where}: {part}[{index}] is of type {type(item).__name__}; give {kind.__name__} objects, see "
                "docs/extensions.md"
            )
    return items


def _categories(found: object, where: str) -> dict[str, str]:
    if found is None:
        return {}
    if isinstance(found, Mapping) and all(isinstance(text, str) and text for pair in found.items() for text in pair):
        return {str(name): plain(str(category), 60) for name, category in found.items()}
    raise UserError(f"{where}: CATEGORIES must map op names to categories, both text; see docs/extensions.md")


def _platform(platform: Platform, where: str) -> Platform:
    numbers = [platform.mem_bw_gbps, *(peak.roof for peak in platform.peaks.values())]
    if not platform.name or any(number is not None and not number > 0 for number in numbers):
        raise UserError(
            f"{where}: PLATFORMS: {plain(platform.name, 60) or 'a platform without a name'}: bandwidth and peaks must "
            "be numbers above 0"
        )
    return platform


def _model(model: OpModel, where: str) -> OpModel:
    """The model with its cost guarded."""
    names = (*model.names, *model.prefixes)
    if isinstance(model.names, str) or isinstance(model.prefixes, str) or not all(isinstance(n, str) for n in names):
        raise UserError(f"{where}: the names of a model must be a tuple of texts, such as ('mine::op',)")
    if not names or not callable(model.cost):
        raise UserError(f"{where}: a model needs at least one name or prefix, and a function as its cost")
    return replace(model, names=tuple(model.names), prefixes=tuple(model.prefixes), cost=_Guarded(model.cost, where))


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A user's cost function; what goes wrong in it is a UserError, and what it gives is checked."""

    cost: Callable[[OpArgs], OpCost | None]
    where: str

    def __call__(self, args: OpArgs) -> OpCost | None:
        place = f"{self.where}: the model of {plain(args.name, 80)}"
        found: object = _run(place, lambda: self.cost(args))
        if found is None or (isinstance(found, OpCost) and _is_sound(found)):
            return found
        raise UserError(f"{place}: must give an OpCost with whole numbers of at least 0, or None; mend the extension")


def _is_sound(cost: OpCost) -> bool:
    ends = [end for span in (cost.flops_range, cost.bytes_range) if span is not None for end in span]
    numbers = [cost.flops, cost.bytes_read, cost.bytes_written, *ends]
    return all(number is None or (type(number) is int and number >= 0) for number in numbers)
