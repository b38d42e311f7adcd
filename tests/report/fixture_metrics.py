"""The metrics of the hand-made run; see ``fixture_run``."""

from tracelens_tui.run.category_files import CategoryMetrics, OperationEfficiency, OperationMetrics

KERNEL = "Cijk_Alik_Bljk_BBS_BH_MT256x224x64"


def all_metrics() -> list[CategoryMetrics]:
    """Metrics of the three compute categories."""
    mm = _metrics(0, "aten::mm", 10, 50.0, 100.0, 60.0, "compute", "(8192,2432) bf16<br>(2432,9728) bf16")
    add = _metrics(1, "aten::add", 20, 20.0, 20 / 26 * 100, 50.0, "memory", "(8192,8192) fp32")
    copy = _metrics(2, "aten::copy_", 5, 6.0, 6 / 26 * 100, None, None, "—")
    foo = _metrics(3, "aten::foo", 2, 4.0, 100.0, None, None, "—")
    return [
        _category_metrics("gemm", 50.0, [mm]),
        _category_metrics("elementwise", 26.0, [add, copy]),
        _category_metrics("other", 4.0, [foo]),
    ]


def _category_metrics(name: str, ms: float, operations: list[OperationMetrics]) -> CategoryMetrics:
    return CategoryMetrics(
        category=name,
        status="OK",
        total_time_ms=ms,
        percent_of_compute=ms,
        operation_count=sum(operation.count for operation in operations),
        operations=operations,
    )


def _metrics(
    row: int, name: str, count: int, ms: float, share: float, efficiency: float | None, bound: str | None, args: str
) -> OperationMetrics:
    rated = efficiency is not None
    return OperationMetrics(
        row=row,
        name=name,
        count=count,
        time_ms=ms,
        percent_of_category=share,
        percent_of_total=ms,
        efficiency=OperationEfficiency.model_validate(
            {
                "efficiency_percent": efficiency,
                "bound_type": bound,
                "flops_per_byte": 1572.2 if bound == "compute" else 0.25 if rated else None,
                "compute_spec": "matrix_bf16" if rated else None,
                "resolved_peak_maf": 708.0 if rated else None,
                "resolved_peak_hbm_bw": 5.3 if rated else None,
            }
        ),
        args=args,
        library="Tensile" if row == 0 else None,
        launcher_path="model.py(12): forward" if row == 0 else "—",
        kernel_name=KERNEL if row == 0 else "—",
        kernel_name_trunc=KERNEL if row == 0 else "—",
        dims=[[8192, 2432], [2432, 9728]] if row == 0 else None,
        dtype="bf16" if row == 0 else None,
        exposed_ms=ms,
    )
