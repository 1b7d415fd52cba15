"""Fits ``attention_width`` to fused attention that engines measured with heads of 64 and of 128.

    python benchmarks/fit_heads.py [--write]

From ``configs/kernels``: prompts in 16 bits that keep an accelerator busy, the same but for the
width of the heads. With r the rate of 64 elements over that of 128, what is done for each score
takes the time of products of 128 (1 - r) / (2 r - 1) elements; r is the median over engines and
shapes on accelerators of one silicon. Backward passes are taken to lose as much. A100's tables hold
heads of 128 alone.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from simcore.compute.roofline import WIDE_HEAD
from simcore.files.resources import shipped_folder

SILICON = {
    "hopper": (("h100", "h200"), ("h100_80", "h100_96", "h200", "h800", "gh200")),
    "blackwell": (("b200", "gb200"), ("b200", "gb200")),
    "blackwell_ultra": (("b300", "gb300"), ("b300", "gb300")),
}
"""Its tables, and the accelerators that share it."""
LEAST_US = 1000.0
"""Shorter kernels tell of launches, and of the few tiles that they have."""


def rates(table: Path) -> list[float]:
    """Rates with narrow heads over those with wide ones, of each pair of kernels."""
    times: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            us, width = float(row.pop("us")), int(row.pop("width"))
            if row["format"] == "bf16":
                times[tuple(row.values())][width] = us
    narrow = WIDE_HEAD // 2
    pairs = [of for of in times.values() if of.get(narrow, 0.0) >= LEAST_US and WIDE_HEAD in of]
    return [of[WIDE_HEAD] / of[narrow] / 2 for of in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the values into configs")
    given = parser.parse_args()
    configs = shipped_folder("configs")
    for name, (tables, npus) in SILICON.items():
        folder = configs / "kernels"
        found = [rate for t in tables for rate in rates(folder / t / "attention_prefill.csv")]
        rate = float(np.median(found))
        low, high = np.quantile(found, [0.1, 0.9])
        width = WIDE_HEAD * (1 - rate) / (2 * rate - 1)
        told = f"{rate:.2f} ({low:.2f} to {high:.2f}) of {len(found)} pairs"
        print(f"{name}: attention_width {width:.3g}, rate of narrow heads {told}")
        if given.write:
            for npu in npus:
                write(configs / "npus" / f"{npu}.yaml", width)


def write(path: Path, width: float) -> None:
    """Put the value behind ``attention_half``."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("  attention_width:")]
    at = next(i for i, line in enumerate(kept) if line.startswith("  attention_half:"))
    kept.insert(at + 1, f"  attention_width: {width:.3g}\n")
    path.write_text("".join(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
