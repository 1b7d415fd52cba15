"""Shares of peaks that shipped accelerators reach, held against kernels timed by themselves."""

import csv
from pathlib import Path

import numpy as np
import pytest

from simcore.compute import Roofline
from simcore.config import load_run
from simcore.files.resources import shipped_folder, shipped_names
from simcore.machine import load_npu
from simcore.simulation import simulate_run
from simcore.terms import Precision
from simcore.workload.graph import Kernel

KERNELS = shipped_folder("configs") / "kernels"
SILICON = {
    "ampere": ("a100_80", "a100_40"),
    "hopper": ("h100_80", "h200", "h800", "gh200"),
    "blackwell": ("gb200", "b200"),
    "blackwell_ultra": ("gb300", "b300"),
}
MEASURED = (
    *("a100_80", "a100_40", "v100_16", "v100_32", "h100_80", "h100_96", "h200", "h800"),
    *("b200", "b300", "gb200", "gb300", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e"),
    *("gaudi2",),
)
INVENTED = ("cosmic_a", "cosmic_b", "cosmic_c", "vit22b_p5")
"""Accelerators of problems, whose statements tell what they reach."""
SOFTWARE = ("issue_s", "casts", "attention_share", "traffic", "routing", "routing_s")


def same_run(npu: str, precision: str) -> tuple[float, float]:
    """Time of one iteration in s, and its part of the peak: one model, batch and layout."""
    table = {
        "version": 1,
        "workload": {
            "model": "llama3_8b",
            "sequence": 8192,
            "global_batch": 16,
            "precision": precision,
        },
        "platform": {
            "npu": npu,
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "1000 GB/s", "latency": "1 us"}
            ],
        },
        "plan": {"dp": 8, "zero_stage": 1},
    }
    result = simulate_run(load_run(table))
    return result.iteration_time_s, result.mfu


@pytest.mark.parametrize("names", SILICON.values(), ids=SILICON)
def test_accelerators_of_one_silicon_share_its_values(names: tuple[str, ...]) -> None:
    parts = [load_npu(name).efficiency for name in names]
    assert all(part == parts[0] for part in parts)


@pytest.mark.parametrize("precision", ["bf16", "fp8"])
@pytest.mark.parametrize(("one", "other"), [("b200", "b300"), ("gb200", "gb300")])
def test_siblings_of_equal_peaks_are_within_a_tenth(one: str, other: str, precision: str) -> None:
    assert same_run(one, precision)[0] == pytest.approx(same_run(other, precision)[0], rel=0.1)


def test_no_accelerator_without_measurements_reaches_more_of_its_peak_than_the_best() -> None:
    def part(name: str) -> float:
        npu = load_npu(name)
        wide = [p for p in (Precision.BF16, Precision.FP16) if p in npu.peak_flop_per_s]
        return same_run(name, wide[0])[1] if wide else 0.0

    best = max(part(name) for name in MEASURED)
    others = set(shipped_names("npus")) - {*MEASURED, *INVENTED}
    assert {name: part(name) for name in others if part(name) > best} == {}


@pytest.mark.parametrize("name", ["h100_80", "h200", "b200", "gb200", "b300", "gb300"])
def test_lower_precision_is_never_slower(name: str) -> None:
    formats = [p for p in ("bf16", "fp8", "fp4") if Precision(p) in load_npu(name).peak_flop_per_s]
    times = [same_run(name, precision)[0] for precision in formats]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("name", [n for n in MEASURED if not n.startswith(("tpu", "gaudi"))])
def test_memory_streams_at_what_copies_reach_and_launches_take_microseconds(name: str) -> None:
    part = load_npu(name).efficiency
    assert 0.5 <= part.memory <= 0.95
    assert part.kernel_overhead_s <= 10e-6
    assert part.gemm_ramp_s <= 30e-6


@pytest.mark.parametrize(
    ("tables", "npu"), [("a100", "a100_80"), ("h100", "h100_80"), ("b200", "b200")]
)
def test_products_take_about_the_time_of_measured_ones(tables: str, npu: str) -> None:
    # AIConfigurator 0.12 (Apache-2.0), TensorRT-LLM, bf16; in training, the power limit and other
    # traffic on the memory leave less of the peak than in a product by itself
    off = []
    for row in _rows(tables, "product"):
        m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
        if (
            row["format"] == "bf16"
            and row["engine"] == "tensorrt_llm"
            and m >= 2048 <= n
            and k >= 2048
        ):
            flop, moved = 2.0 * m * n * k, 2.0 * (m * k + k * n + m * n)
            kernel = Kernel("product", "gemm", flop, moved, m, n, k)
            time_us = Roofline().kernel_time_ns(kernel, load_npu(npu), Precision.BF16) / 1e3
            off.append(np.log(time_us / float(row["us"])))
    assert len(off) > 10
    assert -0.05 < np.median(off) < 0.45
    assert np.std(off) < 0.15


@pytest.mark.parametrize(
    ("tables", "npu"), [("a100", "a100_80"), ("h100", "h100_80"), ("b200", "b200")]
)
def test_attention_gets_faster_with_length_as_the_measured_one_does(tables: str, npu: str) -> None:
    ours, theirs = [], []
    for keys in (1024, 4096, 16384):
        rates = []
        for row in _rows(tables, "attention_prefill"):
            heads = float(row["sequences"]) * float(row["key_heads"]) * float(row["group"])
            right = row["format"] == "bf16" and float(row["width"]) == 128
            if right and float(row["keys"]) == keys and heads * keys >= 2**16:
                rates.append(2 * heads * keys**2 * 128 / float(row["us"]) / 1e6)
        theirs.append(np.median(rates))
        kernel = Kernel("attention core", "attention", 1e15, 0.0, keys, keys, 128)
        bare = load_npu(npu)
        part = bare.efficiency.model_copy(update={"attention_share": 1.0})
        alone = bare.model_copy(update={"efficiency": part})
        ours.append(1e15 / Roofline().kernel_time_ns(kernel, alone, Precision.BF16) / 1e3)
    assert ours[0] < ours[1] < ours[2]
    assert np.log(np.array(ours) / np.array(theirs)) == pytest.approx(0, abs=0.35)


def _rows(tables: str, kind: str) -> list[dict[str, str]]:
    path: Path = KERNELS / tables / f"{kind}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
