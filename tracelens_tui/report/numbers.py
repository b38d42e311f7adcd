"""How the report prints quantities.

A quantity with its unit, in prose or in a table, has thousands separators: ``56,699.76 ms``.  What consumers read as a
number has none: the markers, the cells of columns of bare numbers (``Time (ms)``, ``Count``, …), and the GPU's peaks
(``68.6% of 1273 TFLOPS``).
"""

NOT_QUANTIFIABLE = "Not quantifiable from trace data"
NONE = "—"


def ms(value: float) -> str:
    """Return milliseconds as people read them: ``56,699.76 ms``, four decimals where two would hide the value."""
    return f"{value:,.{_decimals(value)}f} ms"


def number(value: float) -> str:
    """Return a time for a cell of bare numbers: ``56699.76``, four decimals where two would hide the value."""
    return f"{value:.{_decimals(value)}f}"


def _decimals(value: float) -> int:
    return 4 if 0 < abs(value) < 0.1 else 2


def pct(value: float | None, digits: int = 2) -> str:
    """Return ``12.34%``."""
    return NONE if value is None else f"{value:.{digits}f}%"


def share(value: float, digits: int = 1) -> str:
    """Return ``12.3 %`` as it stands in a sentence."""
    return f"{value:.{digits}f} %"


def score(value: float | None) -> str:
    """Return an impact score as people see it: one decimal."""
    return NONE if value is None else f"{value:.1f}"


def marker(value: float | None) -> str:
    """Return an impact score as markers carry it: two decimals, or ``null``."""
    return "null" if value is None else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """Return a ratio with one decimal, two below ten."""
    if value is None:
        return NONE
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def figure(value: float | None) -> str:
    """Return a rate without trailing zeros: ``708``, ``5.3``."""
    return NONE if value is None else f"{value:.10g}"
