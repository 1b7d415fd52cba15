"""Kernels from tables: as they were measured, never faster than peaks allow, alike on siblings."""

import csv
from collections import defaultdict
from math import ceil
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from simcore import load_run
from simcore.compute import MeasuredKernels
from simcore.compute.tables.joined import joined_s
from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.compute.tables.lookup import KernelTimes
from simcore.compute.tables.places import layer_of_experts
from simcore.compute.tables.store import KernelTables, shipped_tables
from simcore.errors import ConfigError
from simcore.files.resources import shipped_folder
from simcore.machine import Npu, load_npu
from simcore.terms import Precision
from simcore.workload import build_graph
from simcore.workload.graph import Kernel, Operator

LEFT_OUT = Path(__file__).parents[2] / "golden" / "left_out_kernels.csv"
SHIPPED = shipped_folder("configs") / "kernels"
MEASURED = sorted(path.parent.name for path in SHIPPED.glob("*/*.yaml"))


def product(m: int, n: int, k: int, format_: str = "") -> Kernel:
    moved = 2.0 * (m * k + m * n + k * n)
    return Kernel("qkv", "gemm", 2.0 * m * n * k, moved, m, n, k, format=format_)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_rows_that_the_tables_do_not_hold_are_met() -> None:
    """Measured by the same source on the same accelerators, and left out of the tables."""
    errors = defaultdict(list)
    for row in rows_of(LEFT_OUT):
        tables, kind = shipped_tables(row["tables"]), row["kind"]
        table = tables.find(kind, row["engine"], row["format"])
        assert table is not None
        values = zip(TABLE_KINDS[kind].shape, row["shape"].split(), strict=True)
        found, _ = table.times_us({name: np.array([float(value)]) for name, value in values})
        errors[kind].append(abs(found[0] / float(row["us"]) - 1))
    assert set(errors) == {path.stem for path in SHIPPED.glob("*/*.csv")} - {"tables"}
    assert median([error for found in errors.values() for error in found]) < 0.10
    assert max(median(found) for found in errors.values()) < 0.20


@pytest.mark.parametrize("name", MEASURED)
def test_no_point_of_a_table_beats_the_accelerator(name: str) -> None:
    measured_on = shipped_tables(name).npu
    assert measured_on is not None
    points = 0
    for kind, of_kind in TABLE_KINDS.items():
        path = shipped_folder("configs") / "kernels" / name / f"{kind}.csv"
        for row in rows_of(path) if path.exists() else ():
            at = {column: np.array([float(row[column])]) for column in of_kind.shape}
            assert float(row["us"]) >= 0.999 * of_kind.least_us(measured_on, row["format"], at)[0]
            points += 1
    assert points > 500


@pytest.mark.parametrize("pair", [("b200", "b300"), ("gb200", "gb300"), ("h100_80", "h100_96")])
def test_equal_silicon_gives_equal_answers(pair: tuple[str, str]) -> None:
    """Within 10 % per unit of peak, over products of decoding and of training."""
    shapes = [(m, n, 8192) for m in (16, 256, 8192) for n in (4096, 16384)]
    kernels = [product(*shape) for shape in shapes]
    times = []
    for name in pair:
        npu = load_npu(name)
        lasting = [MeasuredKernels().kernel_time_ns(one, npu, Precision.BF16) for one in kernels]
        times.append(np.array(lasting) * npu.memory_bandwidth_bytes_per_s)
    assert median(np.abs(times[0] / times[1] - 1)) < 0.10


def test_fewer_bits_are_no_slower_where_weights_are_read() -> None:
    for name in ("h100_80", "b200"):
        npu = load_npu(name)
        wide, narrow = (
            MeasuredKernels().kernel_time_ns(product(64, 8192, 28672, f), npu, Precision.BF16)
            for f in ("", "fp8")
        )
        assert narrow < wide


def test_an_engine_of_ones_choice_decides() -> None:
    npu = load_npu("b200")
    times = set()
    for engine in ("vllm", "sglang", "tensorrt_llm"):
        source = npu.kernels
        assert source is not None
        chosen = npu.model_copy(update={"kernels": source.model_copy(update={"engine": engine})})
        kernel = product(64, 8192, 8192, "nvfp4")
        times.add(MeasuredKernels().kernel_time_ns(kernel, chosen, Precision.BF16))
    assert len(times) == 3


def test_nothing_measured_looks_no_better_than_what_was() -> None:
    """Part of its peak that each accelerator reaches in one large product and one attention."""
    gemm = product(8192, 8192, 8192)
    reached: dict[bool, list[float]] = {True: [], False: []}
    for name in ("h100_80", "h200", "b200", "gaudi3", "mi300x", "tpu_v5p", "trainium2"):
        npu = load_npu(name)
        time_ns = MeasuredKernels().kernel_time_ns(gemm, npu, Precision.BF16)
        share = gemm.flop / (time_ns * 1e-9) / npu.peak(Precision.BF16)
        reached[npu.kernels is not None].append(share)
    assert max(reached[False]) <= min(reached[True])


def test_a_bad_line_of_a_table_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "source.yaml").write_text("version: 1\nnpu: h100_80\n")
    (tmp_path / "product.csv").write_text("engine,format,m,n,k,us\nvllm,bf16,1,2,x,3\n")
    with pytest.raises(ConfigError, match=r"product.csv:2: must have engine, format, m, n, k"):
        KernelTables(tmp_path).find("product", "vllm", "bf16")


@pytest.mark.parametrize(("key", "value"), [("tables", "h10"), ("engine", "vlm")])
def test_tables_and_engines_that_nobody_knows_are_refused(key: str, value: str) -> None:
    npu = load_npu("h100_80")
    assert npu.kernels is not None
    wrong = npu.model_copy(update={"kernels": npu.kernels.model_copy(update={key: value})})
    with pytest.raises(ConfigError, match=rf"platform.npu.kernels.{key}: must be one of"):
        MeasuredKernels().kernel_time_ns(product(64, 64, 64), wrong, Precision.BF16)


def test_a_format_without_a_table_reads_its_weights_once() -> None:
    """4-bit weights on an accelerator without a table for them: bytes as stored, not fewer."""
    npu, (m, n, k) = load_npu("h200"), (1, 8192, 28672)
    stored = 0.5625 * n * k
    kernel = product(m, n, k, "nvfp4")._replace(bytes=stored + 2.0 * (m * n + m * k))
    time_ns = MeasuredKernels().kernel_time_ns(kernel, npu, Precision.BF16)
    assert time_ns * 1e-9 * npu.memory_bandwidth_bytes_per_s > stored


def layers(npu: Npu) -> list[Operator]:
    """Operators of a decode step with experts, and of an iteration of training."""
    found: list[Operator] = []
    for name in ("deepseek_v3_128_h800_decode", "gpt3_175b_1024_a100"):
        path = shipped_folder("configs") / "runs" / f"{name}.yaml"
        run = load_run(path, {"platform.npu": npu.name})
        found += build_graph(run.workload, run.plan).operators
    return found


@pytest.mark.parametrize("name", ["h100_80", "h800", "mi300x"])
def test_a_remembered_time_is_that_worked_out_alone(name: str) -> None:
    """To the nanosecond, whatever was asked before and beside it."""
    npu, model = load_npu(name), MeasuredKernels()
    operators = layers(npu)
    together = model.operator_times_ns(operators, npu, Precision.BF16)
    assert model.operator_times_ns(operators, npu, Precision.BF16) == together
    alone = []
    for operator in reversed(operators):
        times = KernelTimes(npu, Precision.BF16)
        alone.append(ceil(joined_s(operator.kernels, times.times_s(operator.kernels), times) * 1e9))
    assert alone[::-1] == together


def test_small_kernels_that_follow_each_other_are_launched_once_and_those_beside_take_no_time() -> (
    None
):
    npu, model = load_npu("b200"), MeasuredKernels()
    small = Kernel("norm", "elementwise", 1.0, 8.0)
    long, short = product(8, 7168, 7168), product(8, 512, 7168)._replace(beside=True)

    def time_ns(*kernels: Kernel) -> int:
        return model.operator_time_ns(kernels, npu, Precision.BF16)

    assert time_ns(small, small, small) == pytest.approx(time_ns(small), abs=2)
    assert time_ns(long, short) == time_ns(long) > time_ns(short)
    assert time_ns(long, short._replace(beside=False)) > time_ns(long)


def layer(rows: int, held: int, width: int = 7168, inner: int = 512) -> list[Kernel]:
    """A layer of *held* experts in which tokens meet *rows* in sum."""
    met, number_bytes = min(rows, held), 0.5625
    up, down = (
        Kernel(
            name,
            "gemm",
            2.0 * rows * n * k,
            number_bytes * met * n * k,
            ceil(rows / met),
            n,
            k,
            met,
            "nvfp4",
            held=held,
        )
        for name, n, k in (("experts up", 2 * inner, width), ("experts down", width, inner))
    )
    return [up, Kernel("experts activation", "elementwise", 1.0, 1.0), down]


def test_few_rows_of_many_experts_take_the_time_that_was_measured_of_them() -> None:
    """64 tokens of 8 among 256 experts were measured as 2 rows of each, 1 token as 1/32."""
    npu = load_npu("b200")
    assert npu.kernels is not None
    named = npu.model_copy(update={"kernels": npu.kernels.model_copy(update={"engine": "sglang"})})
    times = KernelTimes(named, Precision.BF16)
    points = {
        float(row["rows"]): float(row["us"])
        for row in rows_of(SHIPPED / "b200" / "experts.csv")
        if (row["engine"], row["format"], row["held"]) == ("sglang", "nvfp4", "256")
        and (row["hidden"], row["inner"]) == ("7168", "512")
    }
    few = {rows: us for rows, us in points.items() if rows < 1}
    assert len(few) >= 2
    for rows, us in points.items():
        kernels = layer(round(256 * rows), 256)
        fused = layer_of_experts(kernels)
        assert fused is not None
        expected_s = max(1e-6 * us, times.least_s(fused))
        assert times.times_s(kernels)[0] == pytest.approx(expected_s, rel=0.01)


def test_the_fastest_of_any_engine_runs_where_libraries_are_shared() -> None:
    npu = load_npu("b200")
    assert npu.kernels is not None
    kernels = layer(64, 256)
    found = []
    for update in (
        {"engine": "tensorrt_llm"},
        {"engine": "tensorrt_llm", "any_engine": ("experts",)},
        {"engine": ""},
    ):
        named = npu.model_copy(update={"kernels": npu.kernels.model_copy(update=update)})
        found.append(KernelTimes(named, Precision.BF16).times_s(kernels)[0])
    own, shared, fastest = found
    assert shared == fastest <= own


def test_a_kind_of_kernels_that_no_table_has_is_refused() -> None:
    npu = load_npu("b200")
    assert npu.kernels is not None
    named = npu.model_copy(
        update={"kernels": npu.kernels.model_copy(update={"any_engine": ("magic",)})}
    )
    with pytest.raises(ConfigError, match="any_engine: must be of product"):
        KernelTimes(named, Precision.BF16)
