"""The bytes of a trace file, whatever it is packed in, in blocks."""

import bz2
import importlib
import lzma
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from isal import igzip_lib

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.sniff import PACKINGS, is_json, packing_of

_MAGIC = {kind: magic for magic, kind in PACKINGS.items()}
_SNIFFED = 1 << 16  # bytes of an archive's file that tell what it is
_TELLING = 1 << 10
_DEEPEST = 3  # packings around each other; more is a bomb, not a trace
_ISAL_ERROR = cast("type[Exception]", igzip_lib.IsalError)  # its stub says that it is an instance
_DAMAGED = (_ISAL_ERROR, lzma.LZMAError, OSError, EOFError, zipfile.BadZipFile)
_JUNK = ("__MACOSX/", "._", ".DS_Store")


@dataclass(slots=True)
class Packing:
    """What was found around the JSON; filled while the blocks are read."""

    compression: str = "none"
    member: str | None = None  # file of an archive that was read
    files: int = 1  # files in the archive
    members: int = 1  # streams of a gzip file
    trailing_bytes: int = 0
    cut: bool = False  # the packed data end early or are damaged


class _Decompressor(Protocol):
    """What the standard library's decompressors have in common, and isal's."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes: ...


def blocks_of(path: Path, packing: Packing, on_read: Callable[[int], None], size: int = 1 << 20) -> Iterator[bytes]:
    """Give the unpacked bytes of the file in blocks of at most ``size``.

    ``on_read`` hears how many bytes of the file itself were consumed.

    Raises UserError for a packing that cannot be undone here, and for an archive without a trace or with several.
    """
    most = 0

    def heard(done: int) -> None:
        nonlocal most
        if done > most:
            most = done
            on_read(done)

    blocks = _raw(path, heard, size)
    for depth in range(_DEEPEST):
        head, blocks = peek(blocks)
        kind = packing_of(head)
        if kind is None:
            break
        if depth == 0:
            packing.compression = kind
        if kind == "zip":
            if depth:
                raise UserError(f"{path} holds a zip archive inside a {packing.compression} file; unpack it first.")
            blocks = _zip_member(path, packing, heard, size)
        else:
            blocks = _unpacked(path, blocks, kind, packing, size)
    yield from blocks


def peek(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, enough to tell what they are, and an iterator that still gives them."""
    first = b""
    while len(first) < _TELLING and (block := next(blocks, None)) is not None:
        first += block

    def again() -> Iterator[bytes]:
        if first:
            yield first
        yield from blocks

    return first, again()


def _raw(path: Path, on_read: Callable[[int], None], size: int) -> Iterator[bytes]:
    done = 0
    with path.open("rb") as file:
        while block := file.read(size):
            done += len(block)
            on_read(done)
            yield block


def _engine(kind: str, path: Path) -> Callable[[], _Decompressor]:
    if kind == "gzip":
        return lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    if kind == "xz":
        return lzma.LZMADecompressor
    if kind == "bzip2":
        return bz2.BZ2Decompressor
    for module in ("compression.zstd", "backports.zstd"):  # the standard library's from Python 3.14 on
        try:
            zstd: Any = importlib.import_module(module)
        except ImportError:
            continue
        return zstd.ZstdDecompressor
    raise UserError(f"{path} is compressed with zstd, which this Python cannot read; unpack it: zstd -d {path.name}")


def _unpacked(path: Path, blocks: Iterator[bytes], kind: str, packing: Packing, size: int) -> Iterator[bytes]:
    """The streams that lie one after another in ``blocks``; what follows the last one is counted."""
    engine, magic = _engine(kind, path), _MAGIC[kind]
    stream, members, given = engine(), 1, False
    waiting = b""  # bytes after the end of a stream, fewer than tell whether another one starts
    for block in blocks:
        data = waiting + block
        waiting = b""
        while data or not (stream.needs_input or stream.eof):
            if stream.eof:
                if len(data) < len(magic):
                    waiting = data
                    break
                if not data.startswith(magic):
                    packing.trailing_bytes += len(data) + sum(len(rest) for rest in blocks)
                    return
                stream, members = engine(), members + 1
                packing.members = members
            try:
                out = stream.decompress(data, size)
            except _DAMAGED:
                if not given:
                    raise UserError(f"{path} is damaged: its compressed data cannot be read.") from None
                packing.cut = True
                return
            given = given or bool(out)
            data = stream.unused_data if stream.eof else b""
            if out:
                yield out
    packing.trailing_bytes += len(waiting)
    packing.cut = packing.cut or not stream.eof


def _zip_member(path: Path, packing: Packing, on_read: Callable[[int], None], size: int) -> Iterator[bytes]:
    """The one file of the archive that may be a trace."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise UserError(f"{path} is a damaged zip archive; unpack what is left of it, or copy it again.") from None
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        traces = [info for info in infos if not _is_junk(info.filename) and _may_be_trace(archive, info)]
        if len(traces) != 1:
            raise UserError(f"{path} is a zip archive {_which(traces)}.")
        info = traces[0]
        packing.member, packing.files = info.filename, len(infos)
        total = path.stat().st_size
        with archive.open(info) as member:
            read = 0
            while block := _read(member, packing, size):
                read += len(block)
                on_read(total * read // max(1, info.file_size))
                yield block


def _read(member: Any, packing: Packing, size: int) -> bytes:  # noqa: ANN401 - zipfile's file object
    try:
        return member.read(size)
    except _DAMAGED:
        packing.cut = True
        return b""


def _is_junk(name: str) -> bool:
    return name.startswith(_JUNK[0]) or name.rsplit("/", 1)[-1].startswith(_JUNK[1:])


def _may_be_trace(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bool:
    if info.flag_bits & 1:
        return False  # encrypted
    try:
        with archive.open(info) as member:
            head = member.read(_SNIFFED)
    except (*_DAMAGED, NotImplementedError):
        return False
    return is_json(head) or packing_of(head) not in {None, "zip"}


def _which(traces: list[zipfile.ZipInfo]) -> str:
    if not traces:
        return "in which no file is a JSON trace"
    names = ", ".join(info.filename for info in traces[:5]) + (", …" if len(traces) > 5 else "")
    return f"of {len(traces)} files that may be traces; unpack the one you want ({names})"
