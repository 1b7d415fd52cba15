"""Loads the files of one ASTRA-sim run, simulates them, and gathers what ASTRA-sim prints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from simcore.engines.events.input import (
    CustomCollectives,
    EngineInput,
    EngineOutput,
    Ints,
    ListGroup,
    RemoteMemory,
)
from simcore.errors import ConfigError
from simcore.formats.astra import garnet
from simcore.formats.astra.groups_file import read_groups
from simcore.formats.astra.memory_file import read_remote_memory
from simcore.formats.astra.network_file import read_network
from simcore.formats.astra.options import AstraFiles, read_command
from simcore.formats.astra.packets import (
    PACKET,
    is_front_end,
    make_network,
    packets_of,
    read_logical,
)
from simcore.formats.astra.placing import placed_input
from simcore.formats.astra.system_file import AstraSystem, CommandOptions, read_system
from simcore.formats.astra.traces.custom import check_custom, load_custom, runs_natively
from simcore.formats.astra.traces.load import LoadedTraces, load_traces
from simcore.formats.astra.traces.node_table import Machine
from simcore.formats.astra.traces.speeds import with_speeds
from simcore.network import BACKENDS, ExternalNetwork, NetworkDimension, Packet

_KEYS = {
    "chunks": "preferred-dataset-splits",
    "active_chunks_per_dimension": "active-chunks-per-dimension",
    "endpoint_delay": "endpoint-delay",
    "shared_bus.latency_ns": "L",
    "shared_bus.overhead_ns": "o",
    "shared_bus.gap_ns": "g",
    "shared_bus.gap_ns_per_byte": "G",
    "shared_bus.local_reduction_delay_ns": "local-reduction-delay",
}
"""Names of the engine's options in a system file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AstraRun:
    """A run that is loaded and checked.

    Attributes:
        files: Where it came from.
        system: The system file.
        traces: Programs of all NPUs.
        engine_input: What the engine takes.
        folding: Whether NPUs that must behave identically are simulated as one.
        whole_log: Whether all that ASTRA-sim logs is wanted, not the figures only.
        notes: Remarks for the user: ignored keys, cut values, cycles.
    """

    files: AstraFiles
    system: AstraSystem
    traces: LoadedTraces
    engine_input: EngineInput
    folding: bool
    whole_log: bool
    notes: tuple[str, ...]


def load_run(
    files: AstraFiles, backend: str, options: Mapping[str, object], seed: int = 1
) -> AstraRun:
    """Reads and checks all files of a run.

    Args:
        files: The files.
        backend: A name of ``BACKENDS``; ``packet`` also takes the files of ASTRA-sim's packet
            front-end; ``garnet`` takes those of its Garnet front-end.
        options: Further options of ASTRA-sim's command line, without leading dashes.
        seed: Of the random numbers of a packet simulation.

    Raises:
        ConfigError: The first mistake found, with its place.
    """
    notes: list[str] = []
    command = read_command(options, notes)
    dimensions = _read_dimensions(files, backend, notes)
    npus = prod(dimension.npus for dimension in dimensions)
    system = read_system(files.system, command, notes)
    memory = read_remote_memory(files.remote_memory, npus, notes)
    machine = _machine(npus, len(dimensions), system, memory)
    traces = _load_traces(files, command, machine, notes)
    inputs = EngineInput(
        backend="flit" if backend == garnet.GARNET else backend,
        dimensions=dimensions,
        options=system.options,
        programs=traces.programs,
        program_of_npu=traces.program_of_npu,
        groups=_list_groups(traces),
        remote_memory=memory,
        custom=_load_custom(files, system, machine, traces),
        record_nodes=command.whole_log or system.record_trace or system.memory_trace is not None,
        network=_make_network(files, backend, dimensions, seed, command.folding),
    )
    if command.placement:
        own = backend == garnet.GARNET or is_front_end(files, backend)
        inputs = placed_input(command.placement, inputs, own_topology=own, notes=notes)
    if command.npu_scale and inputs.where is not None:  # speeds are those of NPUs
        traces = _load_traces(files, command, machine, [], inputs.where)
        inputs = replace(inputs, programs=traces.programs, program_of_npu=traces.program_of_npu)
    return AstraRun(
        files=files,
        system=system,
        traces=traces,
        engine_input=inputs,
        folding=command.folding and inputs.where is None,
        whole_log=command.whole_log,
        notes=tuple(notes),
    )


def _machine(npus: int, dimensions: int, system: AstraSystem, memory: RemoteMemory) -> Machine:
    remote = memory.kind != "none"
    return Machine(npus=npus, dimensions=dimensions, has_remote_memory=remote, system=system)


def _read_dimensions(
    files: AstraFiles, backend: str, notes: list[str]
) -> tuple[NetworkDimension, ...]:
    if is_front_end(files, backend):
        return read_logical(files)
    if backend == garnet.GARNET:
        return garnet.read_dimensions(files.network, notes)
    if backend not in BACKENDS:
        raise BACKENDS.unknown(backend, at="--backend")
    return read_network(files.network, notes)


def _make_network(
    files: AstraFiles,
    backend: str,
    dimensions: tuple[NetworkDimension, ...],
    seed: int,
    folding: bool,
) -> ExternalNetwork | None:
    """The network of a run that has files or options of its own for it."""
    if backend == garnet.GARNET:
        return garnet.make_network(files.network, dimensions)
    if is_front_end(files, backend):
        return make_network(files, dimensions, seed, folding)
    if backend == PACKET and not folding:
        from simcore.packets.fabric import PacketNetwork

        return Packet(dimensions, PacketNetwork(fold=False))
    return None


def _load_traces(
    files: AstraFiles,
    command: CommandOptions,
    machine: Machine,
    notes: list[str],
    where: Ints | None = None,
) -> LoadedTraces:
    """Programs of all NPUs with their groups, put into a common order if *command* asks for it."""
    groups = {} if files.comm_group is None else read_groups(files.comm_group, machine.npus, notes)
    with_nodes = machine.system.memory_trace is not None
    traces = load_traces(files.workload, machine, groups, with_nodes=with_nodes)
    traces = with_speeds(traces, command.npu_scale, where)
    notes.extend(traces.notes)
    if not command.common_order:
        return traces
    from simcore.formats.astra.traces.group_order import in_common_order

    return in_common_order(traces, rendezvous=command.rendezvous, notes=notes)


def _list_groups(traces: LoadedTraces) -> dict[int, ListGroup]:
    return {
        key: ListGroup(members=np.array(members, np.int64))
        for key, members in traces.groups.items()
    }


def _load_custom(
    files: AstraFiles, system: AstraSystem, machine: Machine, traces: LoadedTraces
) -> CustomCollectives:
    """Collectives that users define, checked together with those of the traces."""
    custom = load_custom(system, machine, files.folder)
    check_custom(custom, traces.programs, traces.groups, machine.npus)
    if system.options.chunks < 1 and runs_natively(custom, traces.programs):
        place = f"{files.system} preferred-dataset-splits"
        rule = "must be 1 or more where collectives run"
        raise ConfigError(place, rule, got=system.options.chunks)
    return custom


def simulate_run(run: AstraRun) -> EngineOutput:
    """Simulates a loaded run.

    Raises:
        SimcoreError: The engine refuses the input.
    """
    from simcore.engines.events.fold.run import run_folded
    from simcore.engines.events.run import run_unfolded

    packets = packets_of(run.engine_input.network)
    try:
        output = (run_folded if run.folding else run_unfolded)(run.engine_input)
        if output.waiting and packets is not None:
            return replace(output, waiting=(*packets.waiting(), *output.waiting))
        return output
    except ConfigError as error:
        file = run.files.network if error.at.startswith("dimensions") else run.files.system
        name = error.at.removeprefix("options.")
        place = f"{file} {_KEYS.get(name, name)}"
        raise ConfigError(place, error.rule, got=error.got) from None
