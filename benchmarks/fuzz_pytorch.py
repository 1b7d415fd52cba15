"""Sound traces of PyTorch and Kineto for the fuzzer, and how they are used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TENSOR = ["Tensor(float32)"]
OPERATORS = ("aten::mm", "record_param_comms", "aten::add", "c10d::send", "aten::relu")
KERNELS = ("gemm", "ncclDevKernel_AllReduce_Sum", "add", "ncclDevKernel_SendRecv", "relu")


def host() -> dict[str, Any]:
    """A host trace of two threads and five operators, with their tensors."""
    nodes = [_plain(1, "[pytorch|profiler|execution_trace|process]", 1)]
    nodes += [_plain(n, "[pytorch|profiler|execution_trace|thread]", 1) for n in (2, 3)]
    for number, name in enumerate(OPERATORS):
        operator = _plain(4 + number, name, 2 + number % 2)
        operator["inputs"] = {
            "values": [[1, 2, 0, 64, 4, "cuda:0"]],
            "shapes": [[8, 8]],
            "types": TENSOR,
        }
        operator["attrs"].append({"name": "rf_id", "type": "uint64", "value": 10 + number})
        operator["attrs"].append({"name": "op_schema", "type": "string", "value": ""})
        nodes.append(operator)
    head = {"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2024-01-01", "start_ts": 5}
    return {**head, "nodes": nodes, "finish_ts": 9}


def _plain(number: int, name: str, caller: int) -> dict[str, Any]:
    empty = {"values": [], "shapes": [], "types": []}
    attributes = [{"name": "tid", "type": "uint64", "value": 1}]
    places = {"inputs": dict(empty), "outputs": dict(empty)}
    return {"id": number, "name": name, "ctrl_deps": caller, **places, "attrs": attributes}


def device() -> dict[str, Any]:
    """A device trace of the same operators: launches, kernels on two streams, synchronisations."""
    events = []
    for number, kernel in enumerate(KERNELS):
        ids = {"External id": 100 + number}
        begin, thread = 1000.0 + 2000 * number, 1 + number % 2
        record = {**ids, "Record function id": 10 + number}
        events.append(_event("cpu_op", OPERATORS[number], thread, begin, 50, record))
        launch = {**ids, "correlation": 200 + number}
        events.append(_event("cuda_runtime", "cudaLaunchKernel", thread, begin + 5, 5, launch))
        stream = {"correlation": 200 + number, "stream": 7 + number % 2}
        if kernel.startswith("nccl"):
            stream["Process Group Name"] = "0"
        events.append(_event("kernel", kernel, 7, begin + 20, 100, stream))
        events.append(_event("cuda_sync", "Stream Sync", thread, begin + 200, 5, {"stream": 7}))
    return {"schemaVersion": 1, "traceEvents": events}


def _event(
    category: str, name: str, thread: int, begin: float, length: float, args: dict[str, Any]
) -> dict[str, Any]:
    place = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread}
    return {**place, "ts": begin, "dur": length, "args": args}


def prepare(folder: Path) -> None:
    """Write the sound traces."""
    (folder / "host.json").write_text(json.dumps(host()))
    (folder / "device.json").write_text(json.dumps(device()))


def use_host(content: bytes, folder: Path) -> None:
    (folder / "mutant").write_bytes(content)
    device_file = folder / "device.json" if len(content) % 2 else None
    convert(folder / "mutant", device_file, folder)


def use_device(content: bytes, folder: Path) -> None:
    (folder / "mutant").write_bytes(content)
    convert(folder / "host.json", folder / "mutant", folder)


def convert(host_file: Path, device_file: Path | None, folder: Path) -> None:
    from simcore.formats.chakra import read_trace, write_trace
    from simcore.formats.pytorch.convert import convert_pytorch
    from simcore.formats.pytorch.device import read_device_trace
    from simcore.formats.pytorch.host import read_host_trace

    measured = None if device_file is None else read_device_trace(device_file)
    found = convert_pytorch(read_host_trace(host_file), measured)
    write_trace(folder / "out.et", found.metadata, found.nodes)
    read_trace(folder / "out.et")
