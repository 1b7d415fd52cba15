"""Every compute model: a better part is never slower, and more work never takes less time."""

from every_case import with_every
from with_arrays import npu_for

from simcore.compute import COMPUTE_MODELS
from simcore.files.resources import shipped_names
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel

KINDS = ("gemm", "attention", "scan", "elementwise", "optimizer", "embedding")
SIZES = ((1, 128, 128), (64, 1024, 1024), (2048, 4096, 1024), (8192, 8192, 8192))


def kernel_of(kind: str, m: int, n: int, k: int) -> Kernel:
    m_n_k = (m, n, k) if kind in ("gemm", "attention") else (0, 0, 0)
    size_bytes = 2.0 * (m * k + k * n + m * n)
    return Kernel("any", kind, 2.0 * m * n * k, size_bytes, *m_n_k)


def first_precision(npu: Npu) -> Precision:
    return next(iter(npu.peak_flop_per_s))


@with_every("model", list(COMPUTE_MODELS))
@with_every("name", shipped_names("npus"))
@with_every("kind", KINDS)
def test_faster_parts_are_never_slower(model: str, name: str, kind: str) -> None:
    npu, compute = npu_for(model, name), COMPUTE_MODELS[model]()
    precision = first_precision(npu)
    peaks = {key: 2 * peak for key, peak in npu.peak_flop_per_s.items()}
    better = [
        npu.model_copy(update={"peak_flop_per_s": peaks}),
        npu.model_copy(
            update={"memory_bandwidth_bytes_per_s": 2 * npu.memory_bandwidth_bytes_per_s}
        ),
    ]
    for size in SIZES:
        kernel = kernel_of(kind, *size)
        plain_ns = compute.kernel_time_ns(kernel, npu, precision)
        for faster in better:
            assert compute.kernel_time_ns(kernel, faster, precision) <= plain_ns


@with_every("model", list(COMPUTE_MODELS))
@with_every("name", shipped_names("npus"))
@with_every("kind", KINDS)
def test_more_work_never_takes_less_time(model: str, name: str, kind: str) -> None:
    npu, compute = npu_for(model, name), COMPUTE_MODELS[model]()
    times_ns = [
        compute.kernel_time_ns(kernel_of(kind, *size), npu, first_precision(npu)) for size in SIZES
    ]
    assert times_ns == sorted(times_ns)
    assert times_ns[0] >= 0
