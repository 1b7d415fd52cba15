import pytest

from simcore.compute import COMPUTE_MODELS, IdealRoofline, Roofline
from simcore.errors import ConfigError
from simcore.hardware import Npu, load_npu
from simcore.resources import shipped_names
from simcore.terms import Precision
from simcore.workload.graph import Kernel

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


@pytest.mark.parametrize("model", COMPUTE_MODELS)
@pytest.mark.parametrize("name", shipped_names("npus"))
@pytest.mark.parametrize("kind", KINDS)
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
def test_a_large_matrix_product_reaches_the_measured_rate(
    name: str, measured_tflop_per_s: float
) -> None:
    # S. Bekman, Machine Learning Engineering handbook (2026-08): best dense bf16 product
    kernel = square_gemm(20480)
    time_ns = Roofline().kernel_time_ns(kernel, load_npu(name), Precision.BF16)
    assert kernel.flop / time_ns / 1e3 == pytest.approx(measured_tflop_per_s, rel=0.005)


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
    npu = load_npu("a100_80")
    kernel = Kernel(name="norm", kind="elementwise", flop=1e8, bytes=1e9)
    expected_s = 1e9 / (0.85 * 2e12) + 3e-6
    time_ns = Roofline().kernel_time_ns(kernel, npu, Precision.BF16)
    assert time_ns == pytest.approx(expected_s * 1e9, abs=1)


@pytest.mark.parametrize("model", COMPUTE_MODELS)
def test_a_precision_without_a_peak_is_refused(model: str) -> None:
    with pytest.raises(ConfigError, match="v100_32 computes in fp16, fp32"):
        COMPUTE_MODELS[model]().kernel_time_ns(square_gemm(64), load_npu("v100_32"), Precision.BF16)
