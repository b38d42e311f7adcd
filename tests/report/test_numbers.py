"""How quantities are printed: for people with thousands separators, for readers of numbers without."""

import re

from tests.report.editing import edit, text_of
from tracelens_tui.report.numbers import ms, number
from tracelens_tui.run.store import MANIFEST, PRIORITY, RunDir


def test_times_for_people_and_for_cells_of_bare_numbers() -> None:
    assert [ms(value) for value in (56699.764, 999.999, 0.0512, 0.0)] == [
        "56,699.76 ms", "1,000.00 ms", "0.0512 ms", "0.00 ms",
    ]  # fmt: skip
    assert [number(value) for value in (56699.764, 0.0512, 0.0)] == ["56699.76", "0.0512", "0.00"]


def test_no_quantity_with_a_unit_lacks_its_separators(run: RunDir) -> None:
    """A run a thousand times as long; its prose, its tables and its markers."""
    edit(run, MANIFEST, lambda data: data["gpu_utilization"].update(total_time_ms=100_000.0))
    edit(run, PRIORITY, lambda data: data["priorities"][0].update(gpu_kernel_time_ms=50_000.0, operation_count=1_234))
    edit(run, "category_findings/gemm_findings.json", lambda data: data["findings"][0]["evidence"][1].update(value=5e4))
    text = text_of(run)
    assert "was traced for 100,000.00 ms" in text
    assert "with 50,000.00 ms, 62.5 % of compute time, in 1,234 distinct ops" in text
    assert "| Total Time | 100,000.00 ms |" in text
    assert "takes 50,000.0 ms" in text
    assert "| 1 | GEMM | 50000.00 | 62.5% | 1234 | <!-- top-ops-row low=15.00 high=20.00 -->" in text
    assert not re.search(r"\d{4,}(\.\d+)? ms", text)
