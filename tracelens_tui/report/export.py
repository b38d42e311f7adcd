"""The report as one file at a place of the user's choice: Markdown, JSON or a page that needs nothing else."""

import base64
import html
import re
from pathlib import Path

from tracelens_tui.atomic import write_bytes
from tracelens_tui.errors import UserError
from tracelens_tui.run.store import CHART, REPORT, REPORT_JSON

FORMATS = (".md", ".json", ".html")

_IMAGE = re.compile(rf"!\[([^\]]*)\]\({re.escape(CHART)}\)")
# What the report itself writes as HTML; everything else was escaped and stays text.
_OWN_HTML = (
    (re.compile(r"&lt;br&gt;"), "<br>"),
    (re.compile(r"&lt;a id=&quot;(detailed-analysis-[A-Za-z0-9-]+)&quot;&gt;&lt;/a&gt;"), r'<a id="\1"></a>'),
    (
        re.compile(r" ?&lt;!-- (?:impact-begin|impact-end|top-ops-row|reasoning-candidate)[ a-zA-Z0-9_=.-]*--&gt;\n?"),
        "",
    ),
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; display: block; overflow-x: auto; }}
th, td {{ border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
code {{ background: #f2f2f2; padding: 0 .2em; overflow-wrap: anywhere; }}
blockquote {{ border-left: 4px solid #ccc; margin-left: 0; padding-left: 1rem; color: #555; }}
img {{ max-width: 100%; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #181818; color: #ddd; }} code {{ background: #333; }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def read_report(run_dir: Path) -> str:
    """Return the text of a run's report; UserError where it has none."""
    return _bytes_of(run_dir, REPORT).decode("utf-8", "replace")


def export_report(run_dir: Path, out: Path, *, overwrite: bool = False) -> Path:
    """Write the run's report to ``out`` (a file, or a folder for ``analysis.md`` in it) and return the file's path.

    The ending decides: ``.md`` and ``.html`` carry the chart inside, ``.json`` is ``analysis.json``.  UserError for
    another ending, a file that is there already unless ``overwrite``, or a run without a report.
    """
    if out.is_dir():
        out = out / REPORT
    if out.suffix.lower() not in FORMATS:
        raise UserError(f"{out}: a report is exported as one of {', '.join(FORMATS)}")
    data = _content(run_dir, out.suffix.lower())
    if out.exists() and not overwrite:
        raise UserError(f"{out}: the file is there already; add --force or choose another name")
    try:
        write_bytes(out, data)
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}") from error
    return out


def _content(run_dir: Path, suffix: str) -> bytes:
    if suffix == ".json":
        return _bytes_of(run_dir, REPORT_JSON)
    text, chart = read_report(run_dir), _data_uri(run_dir)
    if suffix == ".html":
        return to_html(text, chart).encode("utf-8")
    return _IMAGE.sub(lambda match: f"![{match[1]}]({chart})" if chart else "", text).encode("utf-8")


def _bytes_of(run_dir: Path, name: str) -> bytes:
    if not run_dir.is_dir():
        raise UserError(f"{run_dir}: there is no such run directory")
    try:
        return (run_dir / name).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{run_dir}: the run has no report yet ({name} is missing)") from None
    except OSError as error:
        raise UserError(f"{run_dir / name}: cannot be read: {error.strerror}") from error


def to_html(text: str, chart: str | None) -> str:
    """Return a report's Markdown as a page; HTML in it stays text except for the report's own anchors and breaks."""
    from markdown_it import MarkdownIt  # only here: reading a report needs no parser

    title = html.escape(text.split("\n", 1)[0].lstrip("# "))
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = markdown.render(_IMAGE.sub("", text))
    for pattern, replacement in _OWN_HTML:
        body = pattern.sub(replacement, body)
    image = f'<p><img alt="Performance Improvement" src="{chart}"></p>\n' if chart else ""
    return _PAGE.format(title=title, body=body.replace("</table>\n", f"</table>\n{image}", 1))


def _data_uri(run_dir: Path) -> str | None:
    if not (run_dir / CHART).is_file():
        return None
    return f"data:image/png;base64,{base64.b64encode(_bytes_of(run_dir, CHART)).decode('ascii')}"
