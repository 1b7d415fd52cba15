import numpy as np
import pytest
from every_case import with_every

from simcore.compute import COMPUTE_MODELS, IdealRoofline, RecordedRoofline, Roofline
from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.machine import Efficiency, Npu, load_npu
from simcore.terms import NARROW_FORMATS, Precision
from simcore.workload.graph import Kernel, Operator, PassPhase

KINDS = ("gemm", "attention", "elementwise", "optimizer", "embedding")


def square_gemm(size: int) -> Kernel:
    return Kernel(
        name="square",
        kind="gemm",
        flop=2.0 * size**3,
        bytes=6.0 * size**2,
        m=size,
        n=size,
        k=size,
    )


def best_precision(npu: Npu) -> Precision:
    return next(iter(npu.peak_flop_per_s))


@with_every("model", COMPUTE_MODELS)
@with_every("name", shipped_names("npus"))
@with_every("kind", KINDS)
def test_no_model_is_faster_than_the_roofline(model: str, name: str, kind: str) -> None:
    npu = load_npu(name)
    precision = best_precision(npu)
    for flop in (0.0, 1e3, 1e9, 1e14):
        for size_bytes in (0.0, 1e3, 1e9):
            kernel = Kernel(name="any", kind=kind, flop=flop, bytes=size_bytes)
            time_s = COMPUTE_MODELS[model]().kernel_time_ns(kernel, npu, precision) / 1e9
            assert time_s * npu.peak(precision) >= flop * (1 - 1e-12)
            assert time_s * npu.memory_bandwidth_bytes_per_s >= size_bytes * (1 - 1e-12)


def test_the_ideal_model_is_the_roofline_by_hand() -> None:
    # 8e12 FLOP at 312 TFLOP/s: 25,641,025.6 ns; 4e9 B at 2000 GB/s: 2,000,000 ns
    npu = load_npu("a100_80")
    bound_by_compute = Kernel(name="a", kind="gemm", flop=8e12, bytes=4e9)
    bound_by_memory = Kernel(name="b", kind="gemm", flop=8e9, bytes=4e9)
    ideal = IdealRoofline()
    assert ideal.kernel_time_ns(bound_by_compute, npu, Precision.BF16) == 25_641_026
    assert ideal.kernel_time_ns(bound_by_memory, npu, Precision.BF16) == 2_000_000


@pytest.mark.parametrize(
    ("name", "measured_tflop_per_s"),
    [("a100_80", 271.2), ("h100_80", 794.5), ("gb200", 1822.0), ("mi300x", 668.4)],
)
def test_a_large_matrix_product_stays_below_the_best_rate_ever_measured(
    name: str, measured_tflop_per_s: float
) -> None:
    # S. Bekman, Machine Learning Engineering handbook (2026-08): best dense bf16 product; in
    # training, power and memory traffic leave at least half of it
    kernel = square_gemm(20480)
    time_ns = Roofline().kernel_time_ns(kernel, load_npu(name), Precision.BF16)
    rate = kernel.flop / time_ns / 1e3
    assert measured_tflop_per_s / 2 < rate < measured_tflop_per_s * 1.005


def test_a_matrix_product_as_long_as_the_ramp_reaches_half_of_the_best_rate() -> None:
    npu = load_npu("a100_80")
    rate = npu.efficiency.gemm * npu.peak(Precision.BF16)
    half = rate * npu.efficiency.gemm_ramp_s
    kernel = Kernel(name="half", kind="gemm", flop=half, bytes=0.0)
    time_ns = Roofline().kernel_time_ns(kernel, npu, Precision.BF16)
    busy_s = time_ns / 1e9 - npu.efficiency.kernel_overhead_s
    assert half / busy_s == pytest.approx(rate / 2, rel=1e-3)


def test_the_rate_of_matrix_products_rises_with_their_size() -> None:
    npu = load_npu("h100_80")
    rates = [
        square_gemm(size).flop / Roofline().kernel_time_ns(square_gemm(size), npu, Precision.BF16)
        for size in (256, 512, 1024, 2048, 4096, 8192, 16384)
    ]
    assert rates == sorted(rates)


def test_an_elementwise_kernel_streams_at_the_efficiency_of_memory() -> None:
    npu = load_npu("mi300x")
    kernel = Kernel(name="norm", kind="elementwise", flop=1e8, bytes=1e9)
    moved = npu.efficiency.traffic * 1e9
    expected_s = moved / (npu.efficiency.memory * 5.3e12) + npu.efficiency.kernel_overhead_s
    time_ns = Roofline().kernel_time_ns(kernel, npu, Precision.BF16)
    assert time_ns == pytest.approx(expected_s * 1e9, abs=1)


@pytest.mark.parametrize("model", COMPUTE_MODELS)
def test_a_precision_without_a_peak_is_refused(model: str) -> None:
    with pytest.raises(ConfigError, match="v100_32 computes in fp16, fp32"):
        COMPUTE_MODELS[model]().kernel_time_ns(square_gemm(64), load_npu("v100_32"), Precision.BF16)


def _with(**changes: object) -> Npu:
    """An H100 whose efficiencies are all 1 but for these."""
    npu = load_npu("h100_80")
    plain = Efficiency(gemm=1, gemm_ramp_s=0, attention=1, memory=1, kernel_overhead_s=0)
    return npu.model_copy(update={"efficiency": plain.model_copy(update=changes)})


def _product(m: int, n: int, k: int, name: str = "product", format_: str = "") -> Kernel:
    flop = 2.0 * m * n * k
    return Kernel(name=name, kind="gemm", flop=flop, bytes=0.0, m=m, n=n, k=k, format=format_)


def _seconds(kernel: Kernel, npu: Npu, precision: Precision = Precision.BF16) -> float:
    return Roofline().kernel_time_ns(kernel, npu, precision) / 1e9


def test_tiles_are_worked_off_in_whole_rounds_of_the_best_size() -> None:
    # 133 tiles of 128 x 256 on 132 processors take two rounds, 132 take one; 266 of 128 x 128 take
    # three rounds of half of that, and 532 of 128 x 64 five of a quarter
    one, more = (
        [
            _seconds(_product(128 * tiles, 256, 8192), _with(processors=132, operand_cost=cost))
            for cost in (0.0, 1e9)
        ]
        for tiles in (132, 133)
    )
    assert more[0] / one[0] == pytest.approx(5 / 4, rel=1e-3)
    # where operands cost more than multiply-adds, a tile costs its edges: 2 x 384, 3 x 256, 5 x 192
    assert more[1] / one[1] == pytest.approx(2, rel=1e-3)


# rows, columns, terms and us of products in bf16 on an H200, by this project's `simcore profile`
# (PyTorch 2.11, CUDA 13.0): few tiles, long sums
LONG_SUMS = [
    (1, 128, 8192, 9.120),
    (1, 128, 32768, 10.768),
    (1, 512, 32768, 18.304),
    (1, 2048, 32768, 45.792),
    (256, 128, 32768, 17.920),
    (256, 512, 32768, 28.192),
    (256, 2048, 32768, 57.536),
    (512, 128, 32768, 22.368),
    (512, 512, 32768, 39.008),
]


@pytest.mark.parametrize(("m", "n", "k", "measured_us"), LONG_SUMS)
def test_processors_that_tiles_leave_idle_share_long_sums(
    m: int, n: int, k: int, measured_us: float
) -> None:
    moved = 2.0 * (m * k + k * n + m * n)
    kernel = _product(m, n, k)._replace(bytes=moved)
    predicted_us = 1e6 * _seconds(kernel, load_npu("h200"))
    assert 1 / 2 < predicted_us / measured_us < 2  # 3 to 13 times as long if each had one


def test_more_terms_are_never_faster_nor_more_processors_slower() -> None:
    for m, n in ((1, 128), (200, 300), (2048, 1024), (5000, 3000)):
        times = []
        for count in (8, 66, 108, 132, 264):
            npu = _with(processors=count, gemm=count / 264)  # processors of one speed
            times.append([_seconds(_product(m, n, k), npu) for k in range(512, 9000, 379)])
        assert (np.diff(times, axis=1) >= 0).all()
        assert (np.diff(times, axis=0) <= 0).all()


def test_short_sums_pay_for_filling_a_tile() -> None:
    whole, filled = (_seconds(_product(8192, 8192, 512), _with(tile_fill=f)) for f in (0.0, 256.0))
    assert filled / whole == pytest.approx(1.5, rel=1e-3)


def test_products_below_16_bits_run_at_their_own_peak_but_not_the_output_head() -> None:
    npu = _with(gemm_narrow=0.5)
    wide = _seconds(_product(8192, 8192, 8192), npu)
    assert _seconds(_product(8192, 8192, 8192), npu, Precision.FP8) == pytest.approx(
        wide * 989 / (0.5 * 1979), rel=1e-3
    )
    head = _product(8192, 8192, 8192, name="head")
    assert _seconds(head, npu, Precision.FP8) == pytest.approx(wide, rel=1e-3)


def test_casts_cost_the_traffic_of_the_operands() -> None:
    kernel = _product(4096, 4096, 4096, format_="fp8")
    plain, cast = (
        _seconds(kernel, _with(), Precision.FP8),
        _seconds(kernel, _with(casts=3.0), Precision.FP8),
    )
    assert cast - plain == pytest.approx(3 * 2 * 4096**2 / 3.35e12, rel=1e-3)


@pytest.mark.parametrize(("precision", "operand_bytes"), [(Precision.BF16, 2), (Precision.FP8, 1)])
def test_a_product_that_waits_for_its_operands_moves_them_in_its_own_format(
    precision: Precision, operand_bytes: int
) -> None:
    m, n, k = 16, 8192, 8192
    moved = 2 * (m * k + k * n + m * n)
    kernel = _product(m, n, k, format_=NARROW_FORMATS.get(precision, ""))._replace(bytes=moved)
    expected = (operand_bytes * (m * k + k * n) + 2 * m * n) / (0.5 * 3.35e12)
    assert _seconds(kernel, _with(product_memory=0.5), precision) == pytest.approx(
        expected, rel=1e-3
    )


def test_a_scan_works_at_the_rate_of_attention() -> None:
    scan = Kernel(name="mamba scan", kind="scan", flop=1e13, bytes=0.0)
    assert _seconds(scan, _with(attention=0.25)) == pytest.approx(1e13 / (0.25 * 989e12), rel=1e-3)


@pytest.mark.parametrize(("width", "slower"), [(128, 1), (104, 1), (100, 4), (150, 4)])
def test_heads_that_are_no_multiple_of_16_bytes_are_slow_without_a_fused_kernel(
    width: int, slower: int
) -> None:
    npu = _with(unfused_attention=1.0, misaligned=0.25)
    scores = Kernel(name="attention scores", kind="attention", flop=1e13, bytes=0.0, k=width)
    fused = Kernel(name="attention core", kind="attention", flop=1e13, bytes=0.0, k=width)
    assert _seconds(scores, npu) / _seconds(fused, npu) == pytest.approx(slower, rel=1e-3)


def test_the_host_sets_the_pace_where_kernels_are_shorter_than_their_issue() -> None:
    npu = _with(issue_s=50e-6)
    short = Kernel(name="norm", kind="elementwise", flop=0.0, bytes=3.35e6)  # 1 us
    long = Kernel(name="norm", kind="elementwise", flop=0.0, bytes=3.35e9)  # 1 ms
    model = Roofline()
    assert model.operator_time_ns([short] * 10, npu, Precision.BF16) == 500_000
    # issued ahead while the long kernel runs
    assert model.operator_time_ns([long, *[short] * 10], npu, Precision.BF16) == 1_010_000


def test_the_time_of_an_ideal_operator_is_the_sum_of_its_kernels() -> None:
    npu, kernel = load_npu("a100_80"), Kernel(name="a", kind="gemm", flop=8e12, bytes=4e9)
    one = IdealRoofline().kernel_time_ns(kernel, npu, Precision.BF16)
    assert IdealRoofline().operator_time_ns([kernel] * 3, npu, Precision.BF16) == 3 * one


def test_recorded_kernels_take_their_own_times_where_issued_ones_wait_for_the_host() -> None:
    npu, kernels = load_npu("h100_80"), (square_gemm(64), square_gemm(64))
    issue_ns = npu.efficiency.issue_s * 1e9
    operator = Operator(name="small", phase=PassPhase.FORWARD, kernels=kernels)
    times = [
        model.operator_times_ns([operator], npu, Precision.BF16)
        for model in (RecordedRoofline(), Roofline())
    ]
    alone_ns = Roofline().kernel_time_ns(kernels[0], npu, Precision.BF16)
    assert times == [[2 * alone_ns], [2 * issue_ns]]
    assert alone_ns < issue_ns
