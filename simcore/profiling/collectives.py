"""Collectives among the accelerators of one node, timed with ``torch.distributed``."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from simcore.files.json_file import read_json
from simcore.profiling.clock import Clock
from simcore.profiling.folder import CollectiveTime
from simcore.profiling.shapes import BUFFERS, BUFFERS_ON_PROCESSOR
from simcore.units import format_quantity

COLLECTIVES = "collective"
"""Name of this kind among those that are measured."""

_RUNS = 15
_ON_PROCESSOR = 2
"""Processes among which collectives are tried where there is no accelerator."""
_TIMEOUT = timedelta(minutes=1)
_WIDTH = 2
"""Bytes of an element."""
_LARGE_BYTES = 1 << 20
"""Buffers from which on the bandwidth counts more than the latency."""


class CollectivesError(Exception):
    """Collectives that cannot be measured here; says why."""


def members_of(torch: Any, device: str) -> int:
    """Accelerators of the node; below 2 there is nothing to measure."""
    return _ON_PROCESSOR if device == "cpu" else int(torch.cuda.device_count())


def measure_collectives(torch: Any, device: str, members: int) -> list[CollectiveTime]:
    """Times of collectives among all *members*, each a process; none for a single one.

    Raises:
        CollectivesError: A process failed.
    """
    if members < 2 or not torch.distributed.is_available():
        return []
    with TemporaryDirectory() as folder:
        arguments = (members, device, folder)
        try:
            torch.multiprocessing.spawn(_member, args=arguments, nprocs=members)
        except torch.multiprocessing.ProcessException as error:
            lines = [line for line in str(error).split("\n") if line.strip()]
            raise CollectivesError(lines[-1] if lines else "a process ended") from None
        rows = read_json(Path(folder, "times.json"))
    return [
        CollectiveTime(name=name, npus=members, size_bytes=size, us=us)
        for name, size, us in rows  # type: ignore[attr-defined] # as a member wrote them
    ]


def _member(rank: int, members: int, device: str, folder: str) -> None:
    """One process: takes part in every collective; the first one writes down the times."""
    torch: Any = import_module("torch")
    distributed = torch.distributed
    place = device
    if device != "cpu":
        torch.cuda.set_device(rank)
        place = f"cuda:{rank}"
    distributed.init_process_group(
        "gloo" if device == "cpu" else "nccl",
        init_method=f"file://{folder}/meeting",
        rank=rank,
        world_size=members,
        timeout=_TIMEOUT,
    )
    try:
        clock, found = Clock(torch, place, _RUNS), []
        for size in BUFFERS_ON_PROCESSOR if device == "cpu" else BUFFERS:
            for name, work in _works(torch, place, members, size).items():
                distributed.barrier()
                found.append((name, size, clock.median_of(work, _RUNS)))
        if rank == 0:
            Path(folder, "times.json").write_text(json.dumps(found), encoding="utf-8")
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def _works(torch: Any, device: str, members: int, size: int) -> Mapping[str, Callable[[], object]]:
    """Collectives on buffers of *size* bytes, of an all-gather that of one member."""
    distributed = torch.distributed

    def numbers(size_bytes: float) -> Any:
        elements = max(1, int(size_bytes) // _WIDTH)
        return torch.zeros(elements, dtype=torch.bfloat16, device=device)

    whole, shard = numbers(size), numbers(size / members)
    split, wide = numbers(len(shard) * members * _WIDTH), numbers(len(whole) * members * _WIDTH)
    other = torch.empty_like(split)
    gather = _named(distributed, "all_gather_single", "all_gather_into_tensor")
    scatter = _named(distributed, "reduce_scatter_single", "reduce_scatter_tensor")
    return {
        "all_reduce": lambda: distributed.all_reduce(whole),
        "all_gather": lambda: gather(wide, whole),
        "reduce_scatter": lambda: scatter(shard, split),
        "all_to_all": lambda: distributed.all_to_all_single(other, split),
    }


def _named(module: Any, *names: str) -> Any:
    """The first of these functions that this version of PyTorch has."""
    return next(getattr(module, name) for name in names if hasattr(module, name))


def network_told(times: Sequence[CollectiveTime]) -> dict[str, object]:
    """Dimension of a run file whose ring all-reduce takes the times of the measured one.

    On a switch a ring takes ``2 (p - 1) (2 latency + S / (p bandwidth))`` for S bytes and p
    members: the least buffer gives the latency, large ones the bandwidth. Collectives are not
    looked up: the network of a run makes their times from these two.
    """
    reduced = [one for one in times if one.name == "all_reduce"]
    large = [one for one in reduced if one.size_bytes >= _LARGE_BYTES]
    if not large:
        return {}
    rounds, members = 2 * (reduced[0].npus - 1), reduced[0].npus
    latency_s = 1e-6 * min(one.us for one in reduced) / rounds / 2
    left_s = [max(1e-6 * one.us - 2 * rounds * latency_s, 1e-9) for one in large]
    rates = [rounds * one.size_bytes / members / s for one, s in zip(large, left_s, strict=True)]
    dimension = {
        "topology": "switch",
        "npus": members,
        "bandwidth": format_quantity(float(np.median(rates)), "B/s"),
        "latency": format_quantity(latency_s, "s"),
    }
    return {"network": {"dimension": dimension, "from": "all_reduce of collective.csv"}}
