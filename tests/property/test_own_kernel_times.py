"""Laws of kernel times from a user's tables, wherever one looks."""

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.compute import MeasuredKernels
from simcore.machine import Npu, load_npu
from simcore.machine.kernel_folder import find_folder
from simcore.terms import Precision
from simcore.workload.graph import Kernel

AXES = ((1, 16, 128), (64, 512, 4096), (64, 1024))
SIZES = st.tuples(st.integers(1, 1000), st.integers(16, 20_000), st.integers(16, 5_000))
STEPS = st.lists(st.floats(0, 2.5), min_size=18, max_size=18)
FACTORS = st.floats(1, 6)


def npu_with(folder: Path, steps: list[float], factor: float = 1.0) -> Npu:
    """An accelerator of boundless peaks, and a table whose times rise by *steps* at each point."""
    grid = 3 * np.exp2(np.array(steps).reshape(tuple(map(len, AXES))))
    for axis in range(grid.ndim):
        grid = np.maximum.accumulate(grid, axis=axis)
    rows = [
        f"bf16,{m},{n},{k},{factor * us:.12g}\n"
        for (m, n, k), us in zip(product(*AXES), grid.ravel().tolist(), strict=True)
    ]
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "product.csv").write_text("format,m,n,k,us\n" + "".join(rows))
    tables = find_folder("./mine", at="tables", beside=folder)
    found = load_npu("h100_80")
    kernels = found.kernels
    assert kernels is not None
    boundless = {
        "peak_flop_per_s": {Precision.BF16: 1e24},
        "memory_bandwidth_bytes_per_s": 1e24,
        "kernels": kernels.model_copy(update={"tables": tables}),
    }
    return found.model_copy(update=boundless)


def time_ns(shape: tuple[int, int, int], npu: Npu) -> int:
    m, n, k = shape
    kernel = Kernel("any", "gemm", 2.0 * m * n * k, 2.0 * (m * k + n * k + m * n), m, n, k)
    return MeasuredKernels().kernel_time_ns(kernel, npu, Precision.BF16)


@given(STEPS, SIZES, st.tuples(FACTORS, FACTORS, FACTORS))
@settings(max_examples=60, deadline=None)
def test_times_grow_with_the_shape_where_the_table_does(
    steps: list[float], shape: tuple[int, int, int], grown: tuple[float, float, float]
) -> None:
    with TemporaryDirectory() as folder:
        npu = npu_with(Path(folder), steps)
        larger = tuple(int(size * factor) for size, factor in zip(shape, grown, strict=True))
        assert 0 < time_ns(shape, npu) <= time_ns(larger, npu) + 1  # type: ignore[arg-type]


@given(STEPS, SIZES, st.floats(0.1, 1))
@settings(max_examples=60, deadline=None)
def test_a_faster_table_is_never_slower(
    steps: list[float], shape: tuple[int, int, int], factor: float
) -> None:
    with TemporaryDirectory() as slow, TemporaryDirectory() as fast:
        before = time_ns(shape, npu_with(Path(slow), steps))
        after = time_ns(shape, npu_with(Path(fast), steps, factor))
        assert after <= before + 1
