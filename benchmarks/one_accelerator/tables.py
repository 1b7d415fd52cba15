"""Writes the tables of ``tests/golden/one_accelerator`` from measured rows.

    python benchmarks/one_accelerator/tables.py h100_80=measured.jsonl [h200=...] --to FOLDER

Each name of an accelerator, of ``configs/npus``, is given with the lines that
``python benchmarks/one_accelerator`` wrote there.
"""

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

ITERATIONS = (
    "npu", "kind", "layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary", "sequence",
    "micro_batch", "accumulated", "recompute", "mode", "attention", "parameters", "again",
    "iterations", "iteration_ms", "least_ms", "most_ms", "forward_ms", "backward_ms",
    "optimizer_ms", "peak_bytes", "reserved_bytes", "held_bytes", "context_bytes",
    "forward_end_bytes", "forward_peak_bytes", "backward_peak_bytes", "optimizer_peak_bytes",
    "clock_mhz", "power_w",
)  # fmt: skip
KERNELS = (
    "npu", "piece", "m", "n", "k", "b", "heads", "kv_heads", "s", "d", "bytes", "again", "us",
    "backward_us",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", nargs="+", metavar="NPU=FILE")
    parser.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    rows = [row for given in options.measured for row in _read(*given.split("=", 1))]
    _write(options.to / "iterations.csv", ITERATIONS, [r for r in rows if "iteration_ms" in r])
    _write(options.to / "kernels.csv", KERNELS, [r for r in rows if "us" in r])


def _read(npu: str, path: str) -> list[dict[str, object]]:
    """Rows of one accelerator; a kernel that stands there twice is marked in its second row."""
    found, seen = list[dict[str, object]](), set[tuple[object, ...]]()
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        row = {"npu": npu, "again": False} | json.loads(line)
        key = tuple([row.get(name) for name in KERNELS[:11]])
        row["again"] = bool(row["again"]) or ("us" in row and key in seen)
        seen.add(key)
        found.append(row)
    return found


def _write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_cell(row.get(column, "")) for column in columns])


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
