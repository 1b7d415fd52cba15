"""Fits ``configs/fabrics/*_direct.yaml`` to all-reduces that inference engines measured in a node.

    python benchmarks/fit_direct.py SYSTEMS [--write]

SYSTEMS: ``aiconfigurator_core/systems`` of the wheel ``aiconfigurator-core`` (PyPI, Apache-2.0). An
all-reduce of S bytes among n NPUs is a sum of parts and a gathering of them, each one step over
links to all others: 2 latency + 2 (n - 1) / n S / (efficiency x bandwidth). ``direct`` is fitted to
the kernels of the engines up to 16 MiB, ``bulk`` to NCCL's from 64 MiB on; the error is the mean
over all of them of the faster one. Needs pyarrow.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares

from simcore.files.resources import shipped_folder

LINKS = {
    "nvlink3": (300e9, ("a100_sxm",)),
    "nvlink4": (450e9, ("h100_sxm", "h200_sxm")),
    "nvlink5": (900e9, ("b200_sxm", "gb200", "b300_sxm", "gb300")),
}
"""Bandwidth of one NPU, one direction, and the machines with such links."""
MOST_DIRECT, LEAST_BULK, LEAST = 16 << 20, 64 << 20, 4096
Floats = NDArray[np.float64]


def measured(systems: Path, names: tuple[str, ...], kind: str) -> pd.DataFrame:
    """NPUs, bytes and the seconds of the newest version of each library on each machine."""
    frames = []
    for name in names:
        for library in sorted((systems / "data" / name / "comm").glob("*")):
            files = sorted(library.glob(f"*/{kind}_perf.parquet"))
            if not files:
                continue
            table = pd.read_parquet(files[-1])
            table = table[table.op_name == "all_reduce"]
            groups = table.groupby(["num_gpus", "message_size"]).latency.min().reset_index()
            frames.append(groups)
    whole = pd.concat(frames)
    whole = whole[(whole.num_gpus <= 8) & (whole.message_size >= LEAST)]
    return whole.assign(time_s=whole.latency * 1e-3)


def times_s(values: Floats, table: pd.DataFrame, rate: float) -> Floats:
    """Times with an efficiency and a latency in microseconds."""
    efficiency, latency_us = values
    parts = 2 * (table.num_gpus - 1) / table.num_gpus * table.message_size
    return np.asarray(2e-6 * latency_us + parts / (efficiency * rate), float)


def fitted(table: pd.DataFrame, rate: float) -> Floats:
    """Efficiency and latency with the least errors of the logarithms of times."""

    def errors(values: Floats) -> Floats:
        return np.asarray(np.log(times_s(values, table, rate) / table.time_s), float)

    found = least_squares(errors, [0.4, 4.0], bounds=([0.05, 0.5], [0.95, 100.0]), loss="soft_l1")
    return np.asarray(found.x, float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for name, (rate, machines) in LINKS.items():
        engines = measured(given.systems, machines, "custom_allreduce")
        library = measured(given.systems, machines, "nccl")
        direct = fitted(engines[engines.message_size <= MOST_DIRECT], rate)
        bulk = fitted(library[library.message_size >= LEAST_BULK], rate)
        both = pd.concat(
            [
                engines[engines.message_size <= MOST_DIRECT],
                library[library.message_size >= LEAST_BULK],
            ]
        )
        best = np.minimum(times_s(direct, both, rate), times_s(bulk, both, rate))
        error = float(np.mean(np.abs(best / both.time_s - 1)))
        print(f"{name}: direct {direct}, bulk {bulk}, mean error {error:.1%} of {len(both)}")
        if given.write:
            write(name, direct, bulk, f"{error:.0%} of {len(both)}")


def write(name: str, direct: Floats, bulk: Floats, error: str) -> None:
    path = shipped_folder("configs") / "fabrics" / f"{name}_direct.yaml"
    lines = ["version: 1", "protocols:"]
    for protocol, (efficiency, latency_us) in (("direct", direct), ("bulk", bulk)):
        lines.append(
            f"  - {{name: {protocol}, efficiency: {efficiency:.3g}, latency: {latency_us:.3g} us}}"
        )
    lines += [
        "source: >-",
        "  fitted by benchmarks/fit_direct.py to all-reduces of TensorRT-LLM, SGLang and vLLM in 2",
        "  to 8 NPUs (direct, to 16 MiB) and of NCCL (bulk, from 64 MiB on) in AIConfigurator,",
        f"  0.12, Apache-2.0; mean error {error}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
