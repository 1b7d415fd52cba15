"""Laws of layers on systolic arrays, and figures worked out by hand."""

import pytest

from simcore.errors import ConfigError
from simcore.systolic import Array, Dataflow, Layer, busy, report

KB = 1024


def array(dataflow: Dataflow, rows: int = 8, cols: int = 8, **changes: int | None) -> Array:
    sizes: dict[str, int | None] = {
        "ifmap_words": 64 * KB, "filter_words": 64 * KB, "ofmap_words": 64 * KB, **changes,
    }  # fmt: skip
    return Array(rows, cols, dataflow, **sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dataflow", "cycles"),
    [
        # 24 x 16 outputs in 3 x 2 folds of 10 steps, 8 + 8 - 2 to fill and drain
        (Dataflow.OUTPUT, 6 * (10 + 14)),
        # 10 x 16 weights in 2 x 2 folds of 24 steps, 8 more to load them
        (Dataflow.WEIGHT, 4 * (24 + 22)),
        # 10 x 24 inputs in 2 x 3 folds of 16 steps
        (Dataflow.INPUT, 6 * (16 + 22)),
    ],
)
def test_cycles_are_those_of_the_folds(dataflow: Dataflow, cycles: int) -> None:
    layer = Layer.gemm(24, 16, 10)
    assert busy(layer, array(dataflow)).cycles == cycles
    found = report(layer, array(dataflow))
    assert (found.total_cycles, found.stall_cycles) == (cycles - 1, 0)


@pytest.mark.parametrize("dataflow", Dataflow)
def test_buffers_that_hold_everything_never_stall_and_read_each_word_once(
    dataflow: Dataflow,
) -> None:
    layer = Layer.gemm(40, 32, 24)
    slow = report(layer, array(dataflow, bandwidth=1))
    free = report(layer, array(dataflow))
    assert slow.stall_cycles == 0
    assert slow.total_cycles == free.total_cycles
    assert (slow.ifmap_dram_reads, slow.filter_dram_reads) == (960, 768)
    assert (free.ifmap_dram_reads, free.filter_dram_reads) == (960, 768)


def test_a_convolution_of_single_pixels_is_the_product_of_its_channels() -> None:
    one = report(Layer(14, 14, 1, 1, 32, 20), array(Dataflow.WEIGHT))
    assert one == report(Layer.gemm(196, 20, 32), array(Dataflow.WEIGHT))


def test_a_stride_that_does_not_divide_the_input_adds_a_window() -> None:
    assert Layer(224, 224, 7, 7, 3, 64, 2, 2).product == (110 * 110, 64, 147)


@pytest.mark.parametrize("dataflow", Dataflow)
def test_a_layer_of_gpt3_is_counted_to_the_word_whatever_the_bandwidth(dataflow: Dataflow) -> None:
    layer = Layer.gemm(2048, 49152, 12288)
    sizes = {"ifmap_words": 6144 * KB, "filter_words": 6144 * KB, "ofmap_words": 2048 * KB}
    free = report(layer, Array(128, 128, dataflow, **sizes))
    given = report(layer, Array(128, 128, dataflow, **sizes, bandwidth=256))
    assert free.total_cycles == busy(layer, array(dataflow, 128, 128)).cycles - 1
    assert given.total_cycles - given.stall_cycles == free.total_cycles
    sums = 1 if dataflow is Dataflow.OUTPUT else 12288 // 128
    assert free.ofmap_dram_writes >= 2048 * 49152 * sums


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("filt_h", (3, 9, 5, 1, 1, 1, 1, 1)),
        ("stride_w", (3, 9, 1, 1, 1, 1, 1, 0)),
        ("words of an operand", (1 << 30, 1 << 30, 1, 1, 4, 1, 1, 1)),
    ],
)
def test_layers_that_cannot_be_are_refused(name: str, change: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=name):
        Layer(*change)


def test_arrays_far_too_small_for_a_layer_are_refused() -> None:
    with pytest.raises(ConfigError, match="array"):
        report(Layer.gemm(1 << 19, 1 << 19, 1), array(Dataflow.OUTPUT, 1, 1))
