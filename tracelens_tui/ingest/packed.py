"""The bytes of a trace file, whatever it is packed in, in blocks."""

import bz2
import importlib
import lzma
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, cast

from isal import igzip_lib

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.archive import tar_member, zip_member
from tracelens_tui.ingest.sniff import encoding_of, packing_of

_TELLING = 1 << 10
_MOST_MEMORY = 1 << 30  # bytes for unpacking; xz -9 takes a sixteenth
_STEP = 1 << 14  # bytes unpacked at once: what an engine has unpacked before damage is lost
_FIRST_STEP = 1 << 8
_LONGEST_HEADER = 1 << 10  # bytes of a gzip header with its file name and comment
_DEEPEST = 3  # packings around each other; more is a bomb, not a trace
_ISAL_ERROR = cast("type[Exception]", igzip_lib.IsalError)  # its stub says that it is an instance
_DAMAGED = (_ISAL_ERROR, lzma.LZMAError, OSError, EOFError)


@dataclass(slots=True)
class Packing:
    """What was found around the JSON; filled while the blocks are read."""

    compression: str = "none"
    member: str | None = None  # file of an archive that was read
    files: int = 1  # files in the archive
    members: int = 1  # streams of a gzip file
    trailing_bytes: int = 0  # after the compressed data or the document
    cut: bool = False  # the packed data end early or are damaged

    def found(self, member: str, files: int) -> None:
        """Note which of how many files of an archive is read."""
        self.member, self.files = member, files


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
            blocks = _archived(zip_member(path, packing.found, heard, size), packing)
        elif kind == "tar":
            blocks = _archived(tar_member(path, blocks, packing.found), packing)
        else:
            blocks = _gathered(_unpacked(path, blocks, kind, packing, size, again=depth == 0), size)
    head, blocks = peek(blocks)
    encoding = encoding_of(head)
    yield from blocks if encoding is None else _recoded(blocks, encoding)


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
        return partial(lzma.LZMADecompressor, memlimit=_MOST_MEMORY)
    if kind == "bzip2":
        return bz2.BZ2Decompressor
    for module in ("compression.zstd", "backports.zstd"):  # the standard library's from Python 3.14 on
        try:
            zstd: Any = importlib.import_module(module)
        except ImportError:
            continue
        return zstd.ZstdDecompressor
    raise UserError(f"{path} is compressed with zstd, which this Python cannot read; unpack it: zstd -d {path.name}")


def _unpacked(
    path: Path, blocks: Iterator[bytes], kind: str, packing: Packing, size: int, *, again: bool
) -> Iterator[bytes]:
    """The streams that lie one after another in ``blocks``; what follows the last one is counted.

    ``again``: the blocks are those of the file itself, which can be read a second time where it is damaged.
    """
    engine = _engine(kind, path)
    stream: _Decompressor | None = None
    members, given = 0, 0
    waiting = b""
    taken, begin, before = 0, 0, 0  # bytes of the blocks; where the stream begins in them; unpacked bytes before it
    for block in chain(blocks, (b"",)):
        data = waiting + block
        taken += len(block)
        waiting = b""
        while data or (stream is not None and not (stream.needs_input or stream.eof)):
            if stream is None or stream.eof:
                if block and len(data) < _LONGEST_HEADER:
                    waiting = data  # isal does not read every header that comes in two pieces
                    break
                if packing_of(data) != kind and members:
                    packing.trailing_bytes += len(data) + sum(len(rest) for rest in blocks)
                    return
                stream, members = engine(), members + 1
                begin, before = taken - len(data), given
                packing.members = members
            try:
                out = stream.decompress(data, min(size, _STEP if given > _STEP else _FIRST_STEP))
            except _DAMAGED:
                if not given:
                    raise UserError(f"{path} is damaged: its compressed data cannot be read.") from None
                packing.cut = True
                if again and kind == "gzip":
                    yield from _up_to_damage(path, begin, given - before)
                return
            given += len(out)
            data = stream.unused_data if stream.eof else b""
            if out:
                yield out
    packing.cut = packing.cut or stream is None or not stream.eof


def _up_to_damage(path: Path, begin: int, given: int) -> Iterator[bytes]:
    """What a damaged gzip stream holds beyond its first ``given`` bytes, byte by byte: a failed call gives nothing."""
    stream = zlib.decompressobj(wbits=-zlib.MAX_WBITS)  # no header, no checksum: that may be wrong
    with path.open("rb") as file:
        file.seek(begin)
        file.seek(begin + _gzip_header(file.read(_LONGEST_HEADER)))
        while not stream.eof and (data := stream.unconsumed_tail or file.read(_STEP)):
            try:
                out = stream.decompress(data, min(given, _STEP) or 1)
            except zlib.error:
                return
            if given:
                given -= len(out)
            else:
                yield out


def _gzip_header(data: bytes) -> int:
    """The length of a gzip stream's header (RFC 1952, section 2.3)."""
    flags, end = data[3], 10
    if flags & 4:  # extra field
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for bit in (8, 16):  # file name, comment
        if flags & bit:
            end = data.index(b"\0", end) + 1
    return end + (2 if flags & 2 else 0)  # checksum of the header


def _gathered(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in fewer pieces."""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield b"".join(waiting)


def _archived(blocks: Iterator[bytes], packing: Packing) -> Iterator[bytes]:
    """The file of an archive, up to where it is damaged."""
    try:
        yield from blocks
    except EOFError:
        packing.cut = True


def _recoded(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The text as UTF-8; halves of surrogate pairs stay what they are, which is no UTF-8."""
    decoder = getincrementaldecoder(encoding)("surrogatepass" if encoding.startswith("utf-16") else "replace")
    first = True
    for block in blocks:
        text = decoder.decode(block)
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        yield text.encode("utf-8", "surrogatepass")
