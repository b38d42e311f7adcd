"""Where the data files are (skills, templates, styles): in a wheel, an editable install or a checkout."""

from importlib.resources import files
from pathlib import Path

_PACKAGE = Path(str(files("tracelens_tui")))
_ROOT = _PACKAGE / "_data" if (_PACKAGE / "_data").is_dir() else _PACKAGE.parent

SKILLS = _ROOT / "skills"
TEMPLATES = _ROOT / "templates"
STYLES = _ROOT / "styles"
