"""Products of a run on systolic arrays, against cycles counted by hand and SCALE-Sim's rules."""

from math import ceil

import pytest

from simcore import simulate_run
from simcore.compute import COMPUTE_MODELS
from simcore.config import RunTemplate
from simcore.errors import ConfigError
from simcore.machine import Npu, SystolicArray, load_npu
from simcore.systolic import Array, Dataflow, Layer, report
from simcore.terms import Precision
from simcore.workload.graph import Kernel

CLOCK_HZ = 1e9
ARRAY = SystolicArray(
    rows=128, columns=128, clock_hz=CLOCK_HZ, dataflow="os",
    ifmap_bytes=2**16, filter_bytes=2**16, ofmap_bytes=2**16,
)  # fmt: skip
OVERHEAD_NS = 1000  # of the accelerator below


def npu_with(**changes: object) -> Npu:
    npu = load_npu("tpu_v3")
    assert npu.efficiency.kernel_overhead_s == OVERHEAD_NS / 1e9
    return npu.model_copy(update={"array": ARRAY.model_copy(update=changes)})


def product(m: int, n: int, k: int, groups: int = 1) -> Kernel:
    flop = 2.0 * m * n * k * groups
    return Kernel("product", "gemm", flop, 1.0, m, n, k, groups)


def time_ns(kernel: Kernel, npu: Npu) -> int:
    return COMPUTE_MODELS["systolic"]().kernel_time_ns(kernel, npu, Precision.BF16)


def test_a_product_takes_the_cycles_of_its_folds() -> None:
    # 4 x 8 folds of 512 steps, 254 to fill and drain; one cycle is one ns
    assert time_ns(product(512, 1024, 512), npu_with()) == 32 * (512 + 254) + OVERHEAD_NS


@pytest.mark.parametrize(
    ("kernel", "arrays", "cycles"),
    [
        (product(512, 1024, 512, groups=3), 2, 2 * 32 * (512 + 254)),  # two rounds
        (product(512, 1024, 512), 4, 8 * (512 + 254)),  # a quarter of the rows, or of the columns
        (product(100, 1024, 512), 4, 2 * (512 + 254)),  # only columns can be cut
        (product(512, 1024, 512, groups=2), 4, 16 * (512 + 254)),  # two arrays for each
    ],
)
def test_several_arrays_share_products(kernel: Kernel, arrays: int, cycles: int) -> None:
    assert time_ns(kernel, npu_with(arrays=arrays)) == cycles + OVERHEAD_NS


@pytest.mark.parametrize("shape", [(64, 64, 8192), (8192, 64, 64), (64, 8192, 64)])
def test_the_best_dataflow_is_the_fastest_of_all(shape: tuple[int, int, int]) -> None:
    times = [time_ns(product(*shape), npu_with(dataflow=flow)) for flow in ("os", "ws", "is")]
    assert len(set(times)) > 1
    assert time_ns(product(*shape), npu_with(dataflow="best")) == min(times)


def test_stalls_are_those_of_buffers_whose_words_are_numbers() -> None:
    # 64 kB hold 32,768 numbers of two bytes; 20 GB/s are ten of them per ns
    words = 2**15
    array = Array(128, 128, Dataflow.OUTPUT, words, words, words, bandwidth=10)
    expected = report(Layer.gemm(512, 1024, 512), array)
    assert expected.stall_cycles > 0
    found = time_ns(product(512, 1024, 512), npu_with(bandwidth_bytes_per_s=20e9))
    assert found == expected.total_cycles + 1 + OVERHEAD_NS


def test_no_product_is_faster_than_the_peak_or_the_memory_of_the_accelerator() -> None:
    many = npu_with(arrays=10**6)
    kernel = product(4096, 4096, 4096)
    assert time_ns(kernel, many) == ceil(kernel.flop / 123e3) + OVERHEAD_NS
    thin = product(128, 128, 1)._replace(bytes=9e8)
    assert time_ns(thin, many) == pytest.approx(1e6 / 0.85 + OVERHEAD_NS, abs=1)


def test_an_accelerator_without_arrays_is_refused_in_one_sentence() -> None:
    with pytest.raises(ConfigError, match=r"platform.npu.array: is needed for compute: systolic"):
        time_ns(product(64, 64, 64), load_npu("h100_80"))


def test_a_run_on_wider_arrays_of_the_same_peak_wastes_more_of_small_products() -> None:
    table = {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 128, "global_batch": 4},
        "platform": {
            "npu": "tpu_v3",
            "dimensions": [
                {"topology": "ring", "npus": 4, "bandwidth": "80 GB/s", "latency": "500 ns"}
            ],
        },
        "plan": {"tp": 4},
        "compute": "systolic",
    }
    plain = simulate_run(RunTemplate.from_table(table).with_values({}))
    assert plain.compute == "systolic"
    roofline = simulate_run(RunTemplate.from_table({**table, "compute": "ideal"}).with_values({}))
    assert plain.iteration_time_s > roofline.iteration_time_s
