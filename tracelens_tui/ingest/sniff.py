"""What a file is, told by its bytes and never by its name."""

import re

PACKINGS = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x50\x2a\x4d\x18": "zstd",  # a frame to be skipped, with which pzstd begins
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
}
"""First bytes -> compression."""

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3\x00", "an SQLite database (an Nsight Systems export or a rocprofv3 rocpd file)"),
    (b"\x80\x02", "a Python pickle (a memory snapshot or a saved model)"),
    (b"\x80\x04\x95", "a Python pickle (a memory snapshot or a saved model)"),
    (b"\x80\x05\x95", "a Python pickle (a memory snapshot or a saved model)"),
    (b"ARROW1", "an Arrow file"),
    (b"PAR1", "a Parquet table"),
    (b"OTF2", "an OTF2 trace"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x04\x22\x4d\x18", "an lz4 file"),
    (b"version https://git-lfs", "a pointer of Git LFS instead of the file it stands for (git lfs pull)"),
    (b"<", "a web page or XML"),
)
_TAR = 257  # where a tar archive names itself
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_WIDE = (
    (re.compile(rb"(?:[ \t\r\n]\0)*[{\[]\0(?!\0)"), "utf-16-le"),
    (re.compile(rb"(?:\0[ \t\r\n])*\0[{\[]\0[^\0]"), "utf-16-be"),
    (re.compile(rb"(?:[ \t\r\n]\0{3})*[{\[]\0{3}"), "utf-32-le"),
    (re.compile(rb"(?:\0{3}[ \t\r\n])*\0{3}[{\[]"), "utf-32-be"),
)
"""How JSON begins where a character takes several bytes."""

_XPLANE = re.compile(rb"\n.{1,6}?\x12?.{0,3}?(?:/host:|/device:|Task Environment|#Chip)", re.DOTALL)
_ROCPROF = re.compile(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:')
_EVENTS = re.compile(rb'\{\s*"(?:ph|cat|name|pid|tid|ts)"\s*:|"traceEvents"\s*:\s*\[')
_BEFORE_JSON = re.compile(rb"[\0\t\r\n\x1b\x20-\x7e\x80-\xff]*")
_EXECUTION_TRACE = re.compile(rb'\s*\{\s*"schema"\s*:\s*"1\.')


def packing_of(head: bytes) -> str | None:
    """Return the compression or the kind of archive that the first bytes of a file announce."""
    if head[_TAR : _TAR + 5] == b"ustar":
        return "tar"
    return next((name for magic, name in PACKINGS.items() if head.startswith(magic)), None)


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of JSON text that is no UTF-8, told by its mark or by how JSON begins in it."""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    return marked or next((name for pattern, name in _WIDE if pattern.match(head)), None)


def without_bom(head: bytes) -> bytes:
    """Return the text without a UTF-8 byte order mark."""
    return head.removeprefix(b"\xef\xbb\xbf")


def is_json(head: bytes) -> bool:
    """Return whether the first bytes may start a JSON object or array."""
    return without_bom(head).lstrip()[:1] in {b"{", b"["}


def holds_events(text: bytes) -> bool:
    """Return whether text that does not begin like JSON goes on like a trace: a log came before it, or zeros."""
    match = _EVENTS.search(text)
    return match is not None and _BEFORE_JSON.fullmatch(text, 0, match.start()) is not None


def foreign_profile(head: bytes) -> str | None:
    """Return the name of a profile format that is recognised but not read, with its article."""
    if _ROCPROF.match(without_bom(head)):
        return "a rocprofv3 trace"
    if _EXECUTION_TRACE.match(without_bom(head)):
        return "a PyTorch execution trace, which holds no times of GPU work"
    if head.startswith(b"SQLite format 3\x00"):
        return "an SQLite database (an Nsight Systems export or a rocprofv3 rocpd file)"
    if _XPLANE.match(head[:64]):
        return "an XPlane trace (JAX or TensorFlow)"
    return None


def looks_like(head: bytes) -> str:
    """Return what a file that is no trace looks like, as the end of a sentence."""
    for magic, kind in _KINDS:
        if without_bom(head).lstrip().startswith(magic):
            return kind
    if re.fullmatch(rb"[\t\r\n\x20-\x7e\x80-\xff]*", head[:4096]):
        return "text without JSON"
    return f"of an unknown kind (first bytes {head[:16].hex(' ')})"
