"""Reads ASTRA-sim's remote memory file."""

from pathlib import Path

from simcore.engines.events.input import RemoteMemory
from simcore.files.json_file import read_json
from simcore.formats.astra.json_table import JsonTable

_KINDS = {
    "NO_MEMORY_EXPANSION": "none",
    "PER_NPU_MEMORY_EXPANSION": "per_npu",
    "PER_NODE_MEMORY_EXPANSION": "per_node",
    "MEMORY_POOL": "pool",
}


_KNOWN = (
    "memory-type",
    "remote-mem-latency",
    "remote-mem-bw",
    "num-nodes",
    "num-npus-per-node",
)


def read_remote_memory(path: Path, npus: int, notes: list[str]) -> RemoteMemory:
    """Reads a remote memory file.

    Args:
        path: The JSON file.
        npus: NPUs of the machine, which the nodes (hosts) must hold.
        notes: Receives remarks on keys that are not used, or cut to whole numbers.

    Raises:
        ConfigError: The kind is unknown, or a value is of the wrong kind or out of range.
    """
    table = JsonTable(read_json(path), path=path, notes=notes)
    table.note_unknown(_KNOWN)
    if "memory-type" not in table:
        raise table.error("memory-type", f"must be one of {', '.join(_KINDS)}")
    kind = _KINDS[table.choice("memory-type", tuple(_KINDS), "NO_MEMORY_EXPANSION")]
    if kind == "none":
        return RemoteMemory()
    for key in ("remote-mem-latency", "remote-mem-bw"):
        if key not in table:
            raise table.error(key, "is required for this memory-type")
    per_node = 1
    if kind == "per_node":
        per_node = table.integer("num-npus-per-node", 0, least=1)
        nodes = table.integer("num-nodes", 0, least=1)
        if nodes * per_node < npus:
            raise table.error("num-nodes", f"times num-npus-per-node must cover {npus} NPUs")
    return RemoteMemory(
        kind=kind,
        latency_ns=table.integer("remote-mem-latency", 0),
        bytes_per_ns=table.integer("remote-mem-bw", 0),
        npus_per_node=per_node,
    )
