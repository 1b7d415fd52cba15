"""Measures kernels with PyTorch and says on what."""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from platform import machine, processor
from typing import Any

from simcore.errors import ConfigError
from simcore.profiling.clock import LEAST_RUNS, Clock
from simcore.profiling.collectives import (
    COLLECTIVES,
    CollectivesError,
    measure_collectives,
    members_of,
    network_told,
)
from simcore.profiling.folder import CollectiveTime, KernelTime, Profile
from simcore.profiling.kernels import MAKERS, STREAMS, Bench, is_possible
from simcore.profiling.shapes import FULL, ON_PROCESSOR, QUICK

DEVICES = ("cuda", "cpu")
_RUNS = 30
Watch = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Wish for a profile: kinds of kernels, device, and what is told of them.

    Attributes:
        device: One of ``DEVICES``.
        kinds: Of kernels; empty: all.
        quick: Fewer shapes, fewer runs of each.
        npu: Name of the accelerator, for ``source.yaml``; empty: not told.
        date: Likewise.
        source: Further provenance by key.
    """

    device: str = "cuda"
    kinds: Sequence[str] = ()
    quick: bool = False
    npu: str = ""
    date: str = ""
    source: Mapping[str, object] = field(default_factory=dict)


def load_torch(device: str) -> Any:
    """The module torch, once it is known to have the *device*.

    Raises:
        ConfigError: It is not installed, or finds no such device.
    """
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        rule = "must be installed to profile kernels: pip install 'simcore-dse[profile]'"
        raise ConfigError("torch", rule, got=str(error)) from None
    if device != "cpu" and not torch.cuda.is_available():
        rule = "must be a GPU that PyTorch finds; --device cpu tries profiling on the processor"
        raise ConfigError("--device", rule, got=f"{device}, and torch {torch.__version__} has none")
    return torch


def profile(wish: Wish, watch: Watch) -> Profile:
    """Times of the kernels in *wish*.

    Args:
        wish: What is to be measured.
        watch: Told of each kind and format before it is measured, with its number of shapes.

    Raises:
        ConfigError: There is no PyTorch, or no such device.
    """
    torch = load_torch(wish.device)
    if wish.device == "cpu":
        torch.set_num_threads(1)  # several would wait for each other where others work too
    bench, clock = Bench(torch, wish.device), Clock(torch, wish.device, _runs(wish))
    grids = ON_PROCESSOR if wish.device == "cpu" else QUICK if wish.quick else FULL
    found, failed = list[KernelTime](), dict[str, str]()
    collectives: list[CollectiveTime] = []
    if not wish.kinds or COLLECTIVES in wish.kinds:
        members = members_of(torch, wish.device)
        watch(COLLECTIVES, members)
        try:
            collectives = measure_collectives(torch, wish.device, members)
        except CollectivesError as error:
            failed[COLLECTIVES] = _first_line(error)
    with torch.no_grad():
        for kind in [kind for kind in MAKERS if not wish.kinds or kind in wish.kinds]:
            for format_ in _formats(bench, kind):
                shapes = [s for s in grids[kind].shapes if is_possible(bench, kind, format_, s)]
                watch(f"{kind} {format_}", len(shapes))
                found += _measured(bench, clock, kind, format_, shapes, failed)
    return Profile(
        kernels=found,
        collectives=collectives,
        source=_source(torch, wish) | network_told(collectives),
        npu=wish.npu,
        left_out=failed,
    )


def _runs(wish: Wish) -> int:
    return LEAST_RUNS if wish.quick or wish.device == "cpu" else _RUNS


def _formats(bench: Bench, kind: str) -> tuple[str, ...]:
    """Formats in which kernels of *kind* are measured: streams by bytes, attention in 16 bits."""
    if kind == "product":
        return bench.formats()
    return ("bf16",) if kind in STREAMS or bench.device != "cpu" else ("bf16", "fp32")


def _measured(
    bench: Bench,
    clock: Clock,
    kind: str,
    format_: str,
    shapes: Sequence[tuple[int, ...]],
    failed: dict[str, str],
) -> Iterator[KernelTime]:
    """Times of a kind in one format; shapes that the libraries refuse are noted in *failed*."""
    for shape in shapes:
        try:
            us = clock.median_us(MAKERS[kind](bench, format_, shape))
        except (RuntimeError, NotImplementedError) as error:  # no such kernel, or no memory
            failed[f"{kind} {format_} {'x'.join(map(str, shape))}"] = _first_line(error)
            continue
        yield KernelTime(kind, format_, tuple(map(float, shape)), max(us, 1e-3))


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]


def _source(torch: Any, wish: Wish) -> dict[str, object]:
    on_gpu = wish.device != "cpu"
    found: dict[str, object] = {
        "source": "simcore profile: medians after a warm-up, caches flushed between runs",
        "device": torch.cuda.get_device_name() if on_gpu else processor() or machine(),
        "torch": str(torch.__version__),
    }
    if on_gpu:
        found["cuda"] = str(torch.version.cuda or torch.version.hip)
        found["driver"] = _driver()
    else:
        found["threads"] = 1
    if wish.date:
        found["date"] = wish.date
    return found | dict(wish.source)


def _driver() -> str:
    """Version of the driver, as its own program tells it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):  # a device of another maker
        return "not told"
    return told.stdout.split("\n")[0].strip()
