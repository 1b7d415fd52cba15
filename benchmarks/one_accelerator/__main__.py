"""Measures training iterations and kernels on one accelerator with PyTorch.

    python benchmarks/one_accelerator --out measured.jsonl [--seconds 480]

A line of JSON per row, written as soon as it is known, the most telling ones first; what is left
when the time is over is not measured. Inputs are random, never zeros. The first line tells device,
driver and versions.
"""

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import cases
from pieces import Pieces
from training import measured

Row = dict[str, object]


def main() -> None:
    begin = perf_counter()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=480.0)
    options = parser.parse_args()
    torch: Any = import_module("torch")
    import_module("torch.utils.checkpoint")
    torch.manual_seed(0)
    with options.out.open("w", encoding="utf-8") as file:
        for row in _rows(torch, _clocks()):
            row["at_s"] = perf_counter() - begin
            file.write(json.dumps(row) + "\n")
            file.flush()
            shown = {k: v for k, v in row.items() if k in ("name", "piece", "us", "iteration_ms")}
            print(
                shown,
                row.get("peak_bytes"),
                row.get("error", ""),
                f"{row['at_s']:.0f}s",
                flush=True,
            )
            if perf_counter() - begin > options.seconds:
                break


def _rows(torch: Any, clocks: Callable[[], Row]) -> Iterator[Row]:
    yield _machine(torch)
    for at, case in enumerate(cases.EAGER):
        yield measured(torch, case, clocks, profiled=at in cases.PROFILED)
    for case in cases.REPEATED:
        yield measured(torch, case, clocks, profiled=False) | {"again": True}
    yield from _pieces(torch)
    for at, case in enumerate(cases.COMPILED):
        yield measured(torch, case, clocks, profiled=at in cases.PROFILED)
    yield from _guarded(lambda: Pieces(torch).streams(compiled=True))


def _pieces(torch: Any) -> Iterator[Row]:
    pieces = Pieces(torch)
    groups: list[Callable[[], Iterator[Row]]] = [
        lambda: pieces.products(cases.PRODUCTS),
        lambda: pieces.weight_gradients(cases.WEIGHT_GRADIENTS),
        lambda: pieces.attention("flash"),
        lambda: pieces.attention("cudnn"),
        lambda: pieces.streams(compiled=False),
        pieces.copies,
        pieces.optimizers,
        pieces.losses,
        lambda: pieces.products(cases.PRODUCTS[2:8:2]),
    ]
    for group in groups:
        torch.cuda.empty_cache()
        yield from _guarded(group)


def _guarded(group: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """Rows of a group up to the first that fails."""
    try:
        yield from group()
    except RuntimeError as error:
        yield {"piece": "failed", "error": str(error).split("\n")[0][:300]}


def _machine(torch: Any) -> Row:
    told = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        smi = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        smi = ""
    torch.zeros(1, device="cuda")
    free, total = torch.cuda.mem_get_info()
    return {
        "name": "machine",
        "context_bytes": total - free - torch.cuda.memory_reserved(),
        "device": torch.cuda.get_device_name(),
        "memory_bytes": told.total_memory,
        "processors": told.multi_processor_count,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "nvidia_smi": smi,
    }


def _clocks() -> Callable[[], Row]:
    """Tells clock, power and temperature of the moment, where the driver's library is there."""
    try:
        nvml: Any = import_module("pynvml")
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
    except Exception:
        return dict
    return lambda: {
        "clock_mhz": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "power_w": nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "temperature_c": nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
    }


if __name__ == "__main__":
    main()
