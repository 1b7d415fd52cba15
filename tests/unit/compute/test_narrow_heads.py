"""Fused attention with narrow heads, against kernels that were timed by themselves."""

import csv
from statistics import median

import pytest

from simcore.compute import Roofline
from simcore.files.resources import shipped_folder
from simcore.machine import load_npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel

PROMPT = 8192
CORE = Kernel(
    name="attention core",
    kind="attention",
    flop=1e13,
    bytes=1e6,
    m=PROMPT,
    n=PROMPT,
    k=128,
)


def time_ns(npu: str, k: int = 128) -> int:
    return Roofline().kernel_time_ns(CORE._replace(k=k), load_npu(npu), Precision.BF16)


def measured_us(table: str, width: int) -> dict[tuple[str, ...], float]:
    """Times of long prompts on an accelerator that they keep busy, by what else they have."""
    path = shipped_folder("configs") / "kernels" / table / "attention_prefill.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["keys"]) == PROMPT]
    chosen = [row for row in rows if row["format"] == "bf16" and int(row["width"]) == width]
    names = ("engine", "sequences", "key_heads", "group")
    return {tuple(row[name] for name in names): float(row["us"]) for row in chosen}


@pytest.mark.parametrize(
    ("npu", "table"),
    [("h100_80", "h100"), ("h200", "h200"), ("b200", "b200"), ("gb200", "gb200"), ("b300", "b300")],
)
def test_narrow_heads_lose_what_measured_kernels_lose(npu: str, table: str) -> None:
    narrow, wide = measured_us(table, 64), measured_us(table, 128)
    busy = [key for key, us in narrow.items() if us >= 1000 and key in wide]
    measured = median(wide[key] / narrow[key] for key in busy)  # twice the FLOP
    predicted = time_ns(npu) / time_ns(npu, k=64)
    assert predicted == pytest.approx(measured / 2, rel=0.1)


def test_heads_of_128_and_more_reach_the_rate_that_is_told() -> None:
    assert time_ns("b200", k=256) == time_ns("b200", k=128) < time_ns("b200", k=96)


def test_a_width_of_nothing_leaves_heads_alike() -> None:
    npu = load_npu("b200")
    efficiency = npu.efficiency.model_copy(update={"attention_width": 0.0})
    plain = npu.model_copy(update={"efficiency": efficiency})
    model = Roofline()
    times = [model.kernel_time_ns(CORE._replace(k=k), plain, Precision.BF16) for k in (16, 64, 128)]
    assert len(set(times)) == 1
