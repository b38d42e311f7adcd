"""What a file says beside its events: devices, ranks, base time, recording options.

Only named keys and plain scalars are kept: no environment variables, command lines or tokens that some tools embed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from tracelens_tui.ingest.lenient import lenient_object
from tracelens_tui.ingest.numbers import integer
from tracelens_tui.text import plain
from tracelens_tui.trace.types import DeviceProperties, Source, TraceMetadata

_GPU_KEYS = re.compile(
    r"(?:^|_)gpus?(?:_|$)|^gpu_?(?:name|model)s?|(?:nvidia|amd)_gpu_models?|^device_?name$", re.IGNORECASE
)
_PRIVATE = re.compile(
    r"env|token|secret|passw|credential|api_?key|auth|user|cmd|command|argv|host|job_name|addr|(?:^|_)ip$|url|path",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"^(?:os_?)?env(?:iron(?:ment)?)?(?:_?var(?:iable)?s?)?$", re.IGNORECASE)
_NUMBERED = re.compile(r"^GPU \d+:\s*|\s*\(UUID:.*$")
_GPU_NAME = re.compile(r"[A-Za-z]{2,}.*\d|\b(?:AMD|NVIDIA|Instinct|Radeon|Intel)\b")
_KNOWN_KEY = re.compile(
    r'"(deviceProperties|distributedInfo|baseTimeNanoseconds|with_stack|record_shapes|schemaVersion|displayTimeUnit'
    r'|cuda_runtime_version|cuda_driver_version|cupti_version|hip_runtime_version|hip_driver_version)"\s*:\s*'
)
_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")
_FILLING = b" \t\r\n\0"  # what may follow a document: a file may end in zeros
_CLOSING = _FILLING + b",]}"
_LONGEST_SCALAR = 200
_LONGEST_NAME = 80
_MOST_HINTS = 64
_DEEPEST = 8
_decoder = json.JSONDecoder(strict=False)


def top_level(head: bytes, tail: bytes) -> tuple[dict[str, Any], int | None]:
    """Return the keys of a document from the text before and after the items of its event list.

    With them comes how many bytes follow its end, None where no end was found.  A document that is cut or broken gives
    what can be read of it; a list without an object around it has no keys.
    """
    if not head:
        return {}, len(tail.lstrip(_CLOSING).rstrip(_FILLING))
    text = (head + b"]" + tail).decode("utf-8", "surrogateescape").lstrip()
    for closing in ("", "}"):
        try:
            value, end = _decoder.raw_decode(_NOT_UTF8.sub("\ufffd", text) + closing)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            rest = text[end:].encode("utf-8", "surrogateescape").strip(_FILLING)
            return value, len(rest) if not closing else None
    text = _NOT_UTF8.sub("\ufffd", text)
    return lenient_object(text, event=False) or _known_keys(text), None


def _known_keys(text: str) -> dict[str, Any]:
    """The keys that matter, each read on its own; of several of a name the first."""
    found: dict[str, Any] = {}
    for match in _KNOWN_KEY.finditer(text):
        try:
            value, _ = _decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        found.setdefault(match[1], value)
    return found


def metadata_of(top: Mapping[str, Any], source: Source) -> TraceMetadata:
    """Return the metadata of the top-level keys of a file other than its event list; odd values count as absent."""
    distributed = top.get("distributedInfo")
    if not isinstance(distributed, Mapping):
        distributed = {}
    return TraceMetadata(
        source=source,
        base_time_ns=integer(top.get("baseTimeNanoseconds")) or 0,
        devices=tuple(_devices(top.get("deviceProperties"))),
        gpu_name_hints=_hints(top),
        with_stack=_flag(top.get("with_stack")),
        record_shapes=_flag(top.get("record_shapes")),
        rank=integer(distributed.get("rank")),
        world_size=integer(distributed.get("world_size")),
        extra=_scalars(top, distributed),
    )


def _devices(entries: Any) -> Iterator[DeviceProperties]:  # noqa: ANN401 - decoded JSON
    for position, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, Mapping):
            continue
        number = integer(entry.get("id"))
        name = entry.get("name")
        yield DeviceProperties(
            id=position if number is None else number,
            name=plain(name).strip() if isinstance(name, str) else "",
            sm_count=_first(entry, "numSms", "maxComputeUnits"),
            memory_bytes=_first(entry, "totalGlobalMem"),
            compute_major=_first(entry, "computeMajor"),
            compute_minor=_first(entry, "computeMinor"),
            warp_size=_first(entry, "warpSize"),
        )


def _first(entry: Mapping[str, Any], *keys: str) -> int | None:
    return next((number for key in keys if (number := integer(entry.get(key))) is not None), None)


def _flag(value: Any) -> bool:  # noqa: ANN401 - decoded JSON
    return value is True or integer(value) == 1 or (isinstance(value, str) and value.lower() == "true")


def _scalars(top: Mapping[str, Any], distributed: Mapping[str, Any]) -> dict[str, str]:
    """Short scalars of the top level and of ``distributedInfo`` as text, nothing that may identify or authorise."""
    found = {
        f"distributedInfo.{key}": value for key, value in distributed.items() if key in {"backend", "nccl_version"}
    }
    found.update(top)
    known = {"baseTimeNanoseconds", "with_stack", "record_shapes"}
    kept = {}
    for key, value in found.items():
        if key in known or not isinstance(value, (str, int, float, Decimal)) or _PRIVATE.search(key):
            continue
        text = plain(str(value).lower() if isinstance(value, bool) else str(value))
        if len(text) <= _LONGEST_SCALAR:
            kept[plain(key, _LONGEST_SCALAR)] = text
    return kept


def _hints(top: Mapping[str, Any]) -> tuple[str, ...]:
    """GPU names under keys such as ``gpu`` or ``nvidia_gpu_models``, in file order, each once."""
    found: dict[str, None] = {}
    for key, value in top.items():
        if key not in {"deviceProperties", "traceEvents"}:
            _collect_hints(key, value, found, inside=False, depth=0)
    return tuple(found)[:_MOST_HINTS]


def _collect_hints(key: str, value: Any, found: dict[str, None], *, inside: bool, depth: int) -> None:  # noqa: ANN401
    if _ENVIRONMENT.search(key) or depth > _DEEPEST:
        return
    inside = inside or bool(_GPU_KEYS.search(key))
    if isinstance(value, Mapping):
        for inner, item in value.items():
            _collect_hints(str(inner), item, found, inside=inside, depth=depth + 1)
    elif isinstance(value, list):
        for item in value:
            _collect_hints("", item, found, inside=inside, depth=depth + 1)
    elif inside and isinstance(value, str):
        for line in value.splitlines()[:_MOST_HINTS]:
            name = _NUMBERED.sub("", plain(line)).strip()
            if len(name) <= _LONGEST_NAME and _GPU_NAME.search(name):
                found.setdefault(name)
