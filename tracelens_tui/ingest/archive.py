"""The one trace in an archive: zip and tar files hold other files beside it."""

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.sniff import encoding_of, is_json, packing_of

_JUNK = ("__MACOSX/", "._", ".DS_Store")
_DAMAGED = (zlib.error, lzma.LZMAError, OSError, EOFError, zipfile.BadZipFile)
_UNREADABLE = (*_DAMAGED, NotImplementedError, RuntimeError, ValueError, OverflowError, struct.error)
"""What zipfile raises where it meets a directory or a header that makes no sense, or a method it does not know."""

_ENCRYPTED = 1  # in the flags of a zip archive's file
_SNIFFED = 1 << 16  # bytes of a file that tell what it is
_NAMED = 5
_BLOCK = tarfile.BLOCKSIZE
_WITHOUT_DATA = (
    tarfile.LNKTYPE,
    tarfile.SYMTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
)
_LONGEST_HEADER = 1 << 16  # bytes of a name or of extended attributes that are looked at


class _Cut(Exception):
    """The archive ends early."""


def may_be_trace(head: bytes) -> bool:
    """Return whether a file of an archive that begins so may be a trace, perhaps packed once more."""
    return is_json(head) or encoding_of(head) is not None or packing_of(head) not in {None, "zip", "tar"}


def is_junk(name: str) -> bool:
    """Return whether a file of that name is one that macOS puts beside others."""
    return name.startswith(_JUNK[0]) or name.rsplit("/", 1)[-1].startswith(_JUNK[1:])


def zip_member(
    path: Path, on_member: Callable[[str, int], None], on_read: Callable[[int], None], size: int
) -> Iterator[bytes]:
    """Give the one file of a zip archive that may be a trace, in blocks of at most ``size`` bytes.

    ``on_member`` hears its name and how many files there are, ``on_read`` how many bytes of the archive were consumed.
    Raises UserError unless there is exactly one, EOFError where its data end early or are damaged.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE:
        raise UserError(f"{path} is a damaged zip archive; unpack what is left of it, or copy it again.") from None
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        traces = [info for info in infos if not is_junk(info.filename) and may_be_trace(_head(archive, info))]
        if len(traces) != 1:
            locked = any(info.flag_bits & _ENCRYPTED for info in infos)
            raise UserError(f"{path} is a zip archive {_which([info.filename for info in traces], locked=locked)}.")
        info = traces[0]
        on_member(info.filename, len(infos))
        total = path.stat().st_size
        try:
            with archive.open(info) as member:
                read = 0
                while block := member.read(size):
                    read += len(block)
                    on_read(min(total, total * read // max(1, info.file_size)))
                    yield block
        except _DAMAGED as error:
            raise EOFError from error


def _head(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The first bytes of a file of the archive, empty where it cannot be read."""
    try:
        with archive.open(info) as member:
            return member.read(_SNIFFED)
    except _UNREADABLE:
        return b""


def _which(traces: list[str], *, locked: bool = False) -> str:
    if not traces:
        return "with a password; unpack it first" if locked else "in which no file is a JSON trace"
    names = ", ".join(traces[:_NAMED]) + (", …" if len(traces) > _NAMED else "")
    return f"of {len(traces)} files that may be traces; unpack the one you want ({names})"


def tar_member(path: Path, blocks: Iterator[bytes], on_member: Callable[[str, int], None]) -> Iterator[bytes]:
    """Give the one file of a tar archive that may be a trace.

    The archive comes in ``blocks``, of which no more than one is kept; so what else it holds shows after the trace.
    ``on_member`` hears its name, and how many files there are so far.  Raises UserError unless there is exactly one,
    EOFError where the archive ends early.
    """
    text = _Text(blocks)
    traces: list[str] = []
    files = 0
    try:
        for name, length in _members(text):
            files += 1
            head = text.some(min(length, _SNIFFED))
            rest = text.pieces(length - len(head))
            if is_junk(name) or not may_be_trace(head):
                _exhaust(rest)
            elif traces:
                traces.append(name)
                _exhaust(rest)
            else:
                traces.append(name)
                on_member(name, files)
                yield head
                yield from rest
            text.skip(-length % _BLOCK)
    except _Cut as error:
        if traces:
            raise EOFError from error
    _exhaust(blocks)  # whether what it is packed in is whole shows at its end
    if len(traces) != 1:
        raise UserError(f"{path} is a tar archive {_which(traces)}.")
    on_member(traces[0], files)


class _Text:
    """The bytes of an archive, taken one after another; raises _Cut where there are no more."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = b""
        self._at = 0

    def pieces(self, length: int) -> Iterator[bytes]:
        """Give the next ``length`` bytes as they come."""
        while length > 0:
            if self.ended():
                raise _Cut
            piece = self._block[self._at : self._at + length]
            self._at += len(piece)
            length -= len(piece)
            yield piece

    def ended(self) -> bool:
        """Return whether all bytes were taken."""
        if self._at == len(self._block):
            self._block, self._at = next(self._blocks, b""), 0
        return not self._block

    def some(self, length: int) -> bytes:
        """Return the next ``length`` bytes, fewer where there are no more."""
        pieces: list[bytes] = []
        with suppress(_Cut):
            pieces.extend(self.pieces(length))
        return b"".join(pieces)

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes."""
        return b"".join(self.pieces(length))

    def skip(self, length: int) -> None:
        """Pass over the next ``length`` bytes."""
        _exhaust(self.pieces(length))


def _exhaust(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass


def _members(text: _Text) -> Iterator[tuple[str, int]]:
    """Give name and length of each regular file; the caller takes its bytes and what fills up its last block."""
    given: dict[str, Any] = {}  # what the headers before say of the next file
    while not text.ended() and (header := text.take(_BLOCK)).strip(b"\0"):
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        except tarfile.HeaderError as error:
            raise _Cut from error
        if info.size < 0:
            raise _Cut
        if info.type in tarfile.REGULAR_TYPES:
            yield given.get("path", info.name), given.get("size", info.size)
            given = {}
        elif info.type in _WITHOUT_DATA:
            given = {}
        else:
            looked_at = min(info.size, _LONGEST_HEADER)
            given |= _told(info.type, text.take(looked_at))
            text.skip(info.size - looked_at + -info.size % _BLOCK)


def _told(kind: bytes, content: bytes) -> dict[str, Any]:
    """What a header says of the file after it."""
    told: dict[str, Any] = {}
    if kind == tarfile.GNUTYPE_LONGNAME:
        told["path"] = content.split(b"\0", 1)[0].decode("utf-8", "replace")
    if kind != tarfile.XHDTYPE:
        return told
    for line in content.split(b"\n"):  # "28 path=name of the file"
        key, _, value = line.partition(b" ")[2].partition(b"=")
        if key == b"path":
            told["path"] = value.decode("utf-8", "replace")
        elif key == b"size" and value.isdigit() and len(value) < 19:
            told["size"] = int(value)
    return told
