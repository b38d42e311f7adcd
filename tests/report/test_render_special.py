"""Reports with warnings, and of traces that allow no findings: always whole, and they say why."""

import json

import pytest

from tests.report.editing import edit, section, set_quality, text_of
from tests.report.fixture_run import write_csv
from tracelens_tui.errors import UserError
from tracelens_tui.report.check_structure import SECTIONS, structure_problems
from tracelens_tui.report.document import Document
from tracelens_tui.report.render import write_report
from tracelens_tui.run.analysis_file import AnalysisJson
from tracelens_tui.run.store import MANIFEST, PRIORITY, RunDir, metrics_file


class TestWarnings:
    def test_failed_agents(self, run: RunDir) -> None:
        edit(
            run, "category_findings/other_findings.json", lambda d: d.update(status="error", message="out of | memory")
        )
        warnings = section(text_of(run), "Warnings")
        assert "| Analysis | Tier | Error Summary |" in warnings
        assert "| other | compute | out of &#124; memory |" in warnings
        assert structure_problems(Document(text_of(run))) == []

    def test_fallbacks(self, run: RunDir) -> None:
        edit(run, "category_findings/gemm_findings.json", lambda d: d.update(fallback_reason="budget used up"))
        assert "| GEMM | compute | the rules analyst stood in: budget used up |" in section(text_of(run), "Warnings")

    def test_varying_ops(self, run: RunDir) -> None:
        edit(run, "category_data/gemm_metrics.json", lambda d: d["operations"][0].update(high_variance=True, cov=1.234))
        warnings = section(text_of(run), "Warnings")
        assert "| Operation | Category | CoV | Reported Time (ms) |" in warnings
        assert "| aten::mm | gemm | 1.23 | 50.00 |" in warnings

    def test_quality(self, run: RunDir) -> None:
        rows = (
            ("stream_overlap", 4, "Kernels overlap on a stream.", "times are cut", "0.02", "True"),
            ("unlinked", 7, "Some kernels have no launch.", "not under any op", "0.0005", "False"),
            ("no_shapes", 1, "Shapes were not recorded.", "no rooflines", "", "False"),
            ("rounded_time", 9, "Times were rounded.", "", "", "False"),
        )
        set_quality(run, *rows)
        text = text_of(run)
        table = [line for line in section(text, "Warnings").splitlines() if line.startswith("|")]
        assert table == [
            "| Data quality | Count | Effect |",
            "|--------------|-------|--------|",
            "| Kernels overlap on a stream. | 4 | times are cut |",
            "| Shapes were not recorded. | 1 | no rooflines |",
        ]
        assert "Read the numbers with care: Kernels overlap on a stream." in section(text, SECTIONS[0])
        write_report(run)
        assert run.read_json("analysis.json", AnalysisJson).warnings == [
            "stream_overlap (4): Kernels overlap on a stream.",
            "no_shapes (1): Shapes were not recorded.",
        ]

    def test_a_broken_quality_table_is_an_error(self, run: RunDir) -> None:
        write_csv(run, "perf_report_csvs/quality.csv", ("code",), (("x",),))
        with pytest.raises(UserError, match="not a quality table"):
            text_of(run)


class TestEmptyRuns:
    """Traces that allow no findings still give a whole report that says why."""

    @staticmethod
    def _without_findings(run: RunDir) -> None:
        for name in run.findings_files():
            edit(run, name, lambda d: d.update(status="no_data", message="nothing", findings=[]))
        edit(run, PRIORITY, lambda d: d.update(findings=[]))
        for row in (0, 1):
            scores = {"impact_score": None, "impact_score_low": None, "impact_score_high": None, "source": "manifest"}
            edit(run, PRIORITY, lambda d, row=row, scores=scores: d["priorities"][row].update(scores))

    def test_nothing_found(self, run: RunDir) -> None:
        self._without_findings(run)
        text = text_of(run)
        assert structure_problems(Document(text)) == []
        assert "The triage found nothing that is worth a change." in text
        assert "✅ No compute kernel optimization opportunities identified: no op can win half a percent" in text
        assert "No kernel fusion opportunities detected." in text
        assert "✅ No system-level bottleneck identified: the GPU computes for 80.0 % of the window." in text

    def test_unknown_platform(self, run: RunDir) -> None:
        self._without_findings(run)
        edit(run, MANIFEST, lambda d: d.update(platform="Foo 9000", rooflines=False, platform_note="unknown: Foo 9000"))
        for name in ("gemm", "elementwise", "other"):
            edit(
                run,
                f"metadata/{name}_metadata.json",
                lambda d: d.update(peak_hbm_bw_tbs=None, max_achievable_tflops={}),
            )
        text = text_of(run)
        assert structure_problems(Document(text)) == []
        assert text.startswith("# Toy - Foo 9000 Standalone Analysis")
        assert (
            "The GPU's peak rates are not known (unknown: Foo 9000), so efficiencies and rooflines are missing." in text
        )
        assert "without the GPU's peak rates no kernel can be held against a roof" in text
        assert "| Peak HBM BW | — |" in text

    def test_no_gpu(self, run: RunDir) -> None:
        self._without_findings(run)
        zero = dict.fromkeys(json.loads((run.path / MANIFEST).read_text())["gpu_utilization"], 0.0)
        edit(run, MANIFEST, lambda d: d.update(time_ns=None, device=None, gpu_utilization=zero, categories=[]))
        edit(run, PRIORITY, lambda d: d.update(priorities=[], baseline_ms=0.0))
        text = text_of(run)
        assert structure_problems(Document(text)) == []
        assert "The trace has no GPU events, so nothing can be said about kernels" in text
        assert "| Total Time | n/a (no GPU events) |" in text
        assert "| Top Bottleneck Category | none |" in text
        write_report(run)
        assert run.read_json("analysis.json", AnalysisJson).time_us is None
        assert not run.exists("perf_improvement.png")

    def test_no_shapes(self, run: RunDir) -> None:
        self._without_findings(run)
        row = ("no_shapes", 1, "Shapes were not recorded.", "no rooflines", "", "False")
        set_quality(run, row)
        assert "without recorded input shapes no kernel can be held against a roof" in text_of(run)

    def test_no_op_with_a_model_is_no_all_clear(self, run: RunDir) -> None:
        self._without_findings(run)
        for name in ("gemm", "elementwise", "other"):
            edit(run, metrics_file(name), lambda d: [op.update(efficiency={}) for op in d["operations"]])
        text = text_of(run)
        assert "The triage has no findings, and that is no all-clear: no op of this trace has both" in text
        assert "opportunities identified: no op of this trace has both a perf model and known arguments" in text

    def test_unlinked_time_is_stated(self, run: RunDir) -> None:
        edit(run, MANIFEST, lambda d: d.update(linked_percent=70.0))
        assert "30.0 % of GPU time cannot be linked to the host code that launched it." in text_of(run)
