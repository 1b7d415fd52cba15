"""Reads ASTRA-sim's system file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcore.collectives import algorithm_named
from simcore.engines.events.input import ChosenAlgorithm, SharedBus, SystemOptions
from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.formats.astra.collective_names import algorithm_of
from simcore.formats.astra.json_table import JsonTable
from simcore.terms import EVERYWHERE, CollectiveKind

_COLLECTIVES = {
    CollectiveKind.ALL_REDUCE: "all-reduce-implementation",
    CollectiveKind.ALL_GATHER: "all-gather-implementation",
    CollectiveKind.REDUCE_SCATTER: "reduce-scatter-implementation",
    CollectiveKind.ALL_TO_ALL: "all-to-all-implementation",
    # not ASTRA-sim's, which lets a broadcast last its duration and refuses the others
    CollectiveKind.BROADCAST: "broadcast-implementation",
    CollectiveKind.REDUCE: "reduce-implementation",
    CollectiveKind.GATHER: "gather-implementation",
    CollectiveKind.SCATTER: "scatter-implementation",
    CollectiveKind.BARRIER: "barrier-implementation",
}
_FASTEST = 1e30
_LONGEST_NS = 1 << 62
_PER_NODE = "per-node-custom-implementation"
_KNOWN = (
    "scheduling-policy",
    "collective-optimization",
    "preferred-dataset-splits",
    "active-chunks-per-dimension",
    "endpoint-delay",
    "local-mem-bw",
    "local-reduction-delay",
    "model-shared-bus",
    "L",
    "o",
    "g",
    "G",
    "peak-perf",
    "roofline-enabled",
    "trace-enabled",
    "replay-only",
    "track-local-mem",
    "local-mem-trace-filename",
    _PER_NODE,
    *_COLLECTIVES.values(),
    *(f"{key}-custom" for key in _COLLECTIVES.values()),
)
# Keys of published files that ASTRA-sim no longer reads.
_SILENT = ("intra-dimension-scheduling", "inter-dimension-scheduling", "boost-mode")


@dataclass(frozen=True, slots=True, kw_only=True)
class AstraRoofline:
    """Bandwidth and peak of the compute model.

    Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance
    model for multicore architectures", CACM 52(4), 2009.
    """

    mem_bytes_per_s: float
    peak_flop_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AstraSystem:
    """A system file, in our terms.

    Attributes:
        options: What the engine takes.
        roofline: The compute model, or None: compute nodes last their recorded duration.
        replay_only: Whether every node lasts its recorded duration.
        record_trace: Whether the result lists start and end of every node.
        memory_trace: Name of the files with each NPU's memory use, or None: no tracking.
        custom_prefixes: Per collective kind, the prefix of its algorithm traces.
        custom_by_node: File that maps workload node ids to such prefixes, or None.
    """

    options: SystemOptions
    roofline: AstraRoofline | None = None
    replay_only: bool = False
    record_trace: bool = False
    memory_trace: str | None = None
    custom_prefixes: Mapping[CollectiveKind, str] = field(default_factory=dict)
    custom_by_node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    """The command-line options that change the system's behaviour, or how it is simulated."""

    queues_per_dimension: int = 1
    injection_scale: float = 1.0
    inter_dimension: str = "ascending"
    communication_streams: int = 1
    compute_slots: int = 1
    rendezvous: bool = False
    common_order: bool = False
    whole_log: bool = False
    folding: bool = True
    npu_scale: str = ""
    placement: str = ""


def read_system(path: Path, command: CommandOptions, notes: list[str]) -> AstraSystem:
    """Reads a system file.

    Args:
        path: The JSON file.
        command: Options of the command line.
        notes: Receives remarks on keys that are not used, missing or cut.

    Raises:
        ConfigError: A value is of the wrong kind or out of range.
    """
    table = JsonTable(read_json(path), path=path, notes=notes)
    table.note_unknown(_KNOWN, _SILENT)
    memory_trace = table.text("local-mem-trace-filename", "local_mem_trace")
    return AstraSystem(
        options=_options(table, command),
        roofline=_roofline(table) if table.flag("roofline-enabled") else None,
        replay_only=table.flag("replay-only"),
        record_trace=table.flag("trace-enabled"),
        memory_trace=memory_trace if table.flag("track-local-mem") else None,
        custom_prefixes=_custom(table),
        custom_by_node=table.text(_PER_NODE, "") or None,
    )


def _options(table: JsonTable, command: CommandOptions) -> SystemOptions:
    delay = table.integer("endpoint-delay", 10)
    if "endpoint-delay" in table:
        delay = int(delay * command.injection_scale)
        if delay >= _LONGEST_NS:
            rule = f"times --injection-scale={command.injection_scale:g} must be below 2^62 ns"
            raise table.error("endpoint-delay", rule)
    algorithms = {}
    for kind, key in _COLLECTIVES.items():
        names = table.texts(key)
        if names is not None:
            algorithms[int(kind)] = tuple(_algorithm(name, kind, key) for name in names)
    optimization = table.choice("collective-optimization", ("baseline", "localBWAware"), "baseline")
    scheduling = table.choice("scheduling-policy", ("LIFO", "FIFO", "EXPLICIT"), "LIFO")
    local_mem_gb_per_s = table.number("local-mem-bw", 0.0)
    if local_mem_gb_per_s < 0:
        raise table.error("local-mem-bw", "must be 0 GB/s or more")
    return SystemOptions(
        scheduling=scheduling.lower(),
        local_bw_aware=optimization == "localBWAware",
        chunks=table.integer("preferred-dataset-splits", 0),
        active_chunks_per_dimension=table.integer("active-chunks-per-dimension", 1, least=1),
        queues_per_dimension=command.queues_per_dimension,
        endpoint_delay_ns=delay,
        local_mem_bytes_per_ns=local_mem_gb_per_s,
        algorithms=algorithms,
        inter_dimension=command.inter_dimension,
        communication_streams=command.communication_streams,
        compute_slots=command.compute_slots,
        rendezvous=command.rendezvous,
        reference_quirks=True,
        shared_bus=_shared_bus(table) if table.flag("model-shared-bus") else None,
    )


def _algorithm(name: str, kind: CollectiveKind, key: str) -> ChosenAlgorithm:
    try:
        if kind in EVERYWHERE:
            return algorithm_of(name)
        return ChosenAlgorithm(algorithm=algorithm_named(name))
    except ConfigError as error:
        raise error.under(key) from None


def _shared_bus(table: JsonTable) -> SharedBus:
    # ASTRA-sim keeps these numbers as 32-bit floats, which shows in large transfers
    return SharedBus(
        latency_ns=int(np.float32(table.integer("L", 0))),
        overhead_ns=int(np.float32(table.integer("o", 0))),
        gap_ns=int(np.float32(table.integer("g", 0))),
        gap_ns_per_byte=float(np.float32(table.number("G", 0.0))),
        local_reduction_delay_ns=table.integer("local-reduction-delay", 1),
    )


def _roofline(table: JsonTable) -> AstraRoofline:
    for key in ("local-mem-bw", "peak-perf"):
        if not 0 < table.number(key, 0.0) < _FASTEST:
            rule = f"must be above 0 and below {_FASTEST:g} where roofline-enabled is on"
            raise table.error(key, rule)
    return AstraRoofline(
        mem_bytes_per_s=table.number("local-mem-bw", 0.0) * 1e9,
        peak_flop_per_s=table.number("peak-perf", 0.0) * 1e12,
    )


def _custom(table: JsonTable) -> dict[CollectiveKind, str]:
    found = {}
    for kind, name in _COLLECTIVES.items():
        key = f"{name}-custom"
        prefixes = table.texts(key)
        if prefixes is None:
            continue
        if len(prefixes) != 1:
            raise ConfigError(f"{table.path} {key}", "must hold one path prefix", got=prefixes)
        found[kind] = prefixes[0]
    return found
