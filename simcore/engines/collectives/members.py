"""Single collectives of which every member counts: by their chain of maxima, or on the engine.

On the engine, members that must behave identically are simulated once: those at one place of a
tree, say, whatever their places in the other dimensions.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from simcore.collectives import SYNTHESISED, InNetwork, algorithm_named
from simcore.collectives.record import program_row
from simcore.engines.collectives.phases import OUTSIDE_IN, cut, runnable
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.rows import machine_of, row_arrays
from simcore.engines.events.input import (
    ChosenAlgorithm,
    EngineInput,
    EngineOutput,
    GridGroup,
    Ints,
    ListGroup,
    SystemOptions,
)
from simcore.engines.events.programs import Program
from simcore.errors import SimulationError
from simcore.kernels.collectives.phase_members import rounds_ends
from simcore.kernels.collectives.records import LIST_DELAY_NS, PEERS_TREE
from simcore.kernels.collectives.records import Program as PhaseProgram
from simcore.machine.dimension import Dimension
from simcore.machine.system import System
from simcore.network import ExternalNetwork
from simcore.network.dimensions import engine_dimensions
from simcore.terms import CollectiveKind, NodeKind

_GROUP = 1


def engine_options(
    system: System,
    topologies: Sequence[str],
    memory_bytes_per_s: float,
    members: Sequence[int],
) -> SystemOptions:
    """The system layer as the engine takes it.

    Args:
        system: The system layer.
        topologies: Of the network's dimensions.
        memory_bytes_per_s: Bandwidth at which received data is reduced.
        members: Per dimension, members of the group; decides which algorithm stands in where the
            chosen one cannot run.
    """
    algorithms = {
        int(kind): tuple(
            _chosen(runnable(name, kind, extent) if extent > 1 else "ring")
            for name, extent in zip(system.algorithms(kind, topologies), members, strict=True)
        )
        for kind in CollectiveKind
    }
    return SystemOptions(
        scheduling=system.scheduling,
        local_bw_aware=system.collective_optimization == "local_bw_aware",
        inter_dimension=system.inter_dimension,
        chunks=system.chunks,
        active_chunks_per_dimension=system.active_chunks_per_dimension,
        endpoint_delay_ns=system.endpoint_delay_ns,
        local_mem_bytes_per_ns=memory_bytes_per_s / 1e9,
        algorithms=algorithms,
        compute_slots=system.profile.compute_slots,
        communication_streams=system.profile.communication_streams,
    )


def _chosen(name: str) -> ChosenAlgorithm:
    return ChosenAlgorithm(algorithm=algorithm_named(name))


class Subsystem:
    """Runs one collective at a time on the NPUs of one group.

    Args:
        dimensions: Of the network.
        system: The system layer.
        memory_bytes_per_s: Bandwidth at which received data is reduced.
        fold: Simulate one of all members that provably end together, where members are a grid.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
        *,
        fold: bool = True,
    ) -> None:
        self._dimensions = tuple(dimensions)
        self._system = system
        self._memory_bytes_per_s = memory_bytes_per_s
        self._npus = prod(dimension.npus for dimension in self._dimensions)
        self._fold = fold

    def collective_ends(
        self,
        kind: CollectiveKind,
        placement: Placement,
        size_bytes: int,
        start_ns: Ints | None = None,
        chunks_before: int = 0,
    ) -> Ints:
        """End of each member of the group of NPU 0.

        Args:
            kind: What the members do.
            placement: Where they are.
            size_bytes: The full buffer, of an all-gather the shard.
            start_ns: (G,) int64, when each of them starts; all at 0 if left out.
            chunks_before: Chunks that the group has been through before; trees take turns.

        Returns:
            (G,) int64, in the order of the members' NPU ids, as is *start_ns*.
        """
        members = self._members(placement)
        inputs = self._inputs(
            kind, size_bytes, _grid(placement), members, start_ns, placement.extent
        )
        inputs = replace(inputs, chunks_before=chunks_before)
        return self._ends(inputs, members, fold=self._fold)

    def run(
        self,
        kind: CollectiveKind,
        placement: Placement,
        size_bytes: int,
        backend: str,
        network: ExternalNetwork | None = None,
    ) -> tuple[Ints, int, tuple[str, ...]]:
        """End of each member of the group of NPU 0, all begun at 0, bytes that they send, notes.

        Args:
            kind: What the members do.
            placement: Where they are.
            size_bytes: The full buffer, of a gather and an all-gather the shard.
            backend: Network backend.
            network: One of it that has an event loop of its own, and has yet to be used.

        Returns:
            (G,) int64, in the order of the members' NPU ids; the bytes of all messages; what the
            network tells of them.
        """
        members = self._members(placement)
        inputs = self._inputs(kind, size_bytes, _grid(placement), members, None, placement.extent)
        inputs = replace(inputs, backend=backend, network=network)
        output = self._output(inputs, members, fold=self._fold)
        notes = network.account().notes if network is not None else ()
        return output.finish_ns[members], output.sent_bytes, notes

    def all_ends(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int, backend: str
    ) -> Ints:
        """End of every NPU of the machine, whose groups at *placement* all begin at 0.

        Args:
            kind: What the members of each group do.
            placement: Where the group of NPU 0 is; the others lie alike.
            size_bytes: The full buffer, of an all-gather the shard.
            backend: Network backend, on which groups may slow each other down.

        Returns:
            (N,) int64.
        """
        npus = np.arange(self._npus)
        inputs = self._inputs(kind, size_bytes, _grid(placement), npus, None, placement.extent)
        return self._ends(replace(inputs, backend=backend), npus, fold=self._fold)

    def dimension_orders(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> tuple[tuple[int, ...], ...]:
        """The dimensions in the order in which chunk 0, 1, ... (and again) reduces over them."""
        from simcore.engines.events.phases import collective_phases

        members = self._members(placement)
        group, extents = _grid(placement), placement.extent
        inputs = self._inputs(kind, size_bytes, group, members, None, extents)
        found = []
        for phases in collective_phases(inputs, kind, _GROUP, -1, size_bytes):
            order = tuple(dict.fromkeys(phase.dimension for phase in phases))
            found.append(order[::-1] if kind in OUTSIDE_IN else order)
        return tuple(found)

    def shared_ends(
        self, kind: CollectiveKind, members: Ints, size_bytes: int, start_ns: Ints
    ) -> Ints:
        """End of each of *members*, (G,) int64 NPU ids in ring order, given its start.

        Returns:
            (G,) int64 absolute times.
        """
        phase = self.phase_of_list(kind, members)
        if phase is not None:
            size, rounds, delay_ns = self.rounds_of_list(kind, size_bytes, members.size)
            ends = np.empty(members.size, np.int64)
            machine = machine_of(self._dimensions, delay_ns, self._memory_bytes_per_s)
            rows, table = row_arrays([phase])
            if rounds_ends(rows, table, size, members, machine, start_ns, ends, rounds):
                return ends
        return self.engine_ends(kind, members, size_bytes, start_ns)

    def rounds_of_list(
        self, kind: CollectiveKind, size_bytes: int, members: int
    ) -> tuple[int, int, int]:
        """Bytes of a list's chunk, chunks one after another, and delay of a message in ns."""
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, self._npus)
        in_list = members < self._npus
        delay_ns = LIST_DELAY_NS if in_list else self._system.endpoint_delay_ns
        return chunk_bytes, -(-chunks // self._system.active_chunks_per_dimension), delay_ns

    def engine_ends(
        self, kind: CollectiveKind, members: Ints, size_bytes: int, start_ns: Ints
    ) -> Ints:
        """``shared_ends``, message by message on the event engine."""
        inputs = self._list_inputs(kind, members, size_bytes, start_ns)
        return self._ends(inputs, members, fold=False)

    def shared_ends_on(
        self,
        network: ExternalNetwork,
        kind: CollectiveKind,
        members: Ints,
        size_bytes: int,
        start_ns: Ints,
        where: Ints | None = None,
    ) -> Ints:
        """``shared_ends`` on a network of their own, with rank i on NPU ``where[i]``."""
        inputs = self._list_inputs(kind, members, size_bytes, start_ns)
        inputs = replace(inputs, network=network, where=where)
        return self._ends(inputs, members, fold=False)

    def _list_inputs(
        self, kind: CollectiveKind, members: Ints, size_bytes: int, start_ns: Ints
    ) -> EngineInput:
        # A list is one logical dimension, and a ring unless the network too has only one; the
        # whole machine runs over all dimensions.
        whole = members.size == self._npus
        sizes = [dimension.npus if whole else int(members.size) for dimension in self._dimensions]
        extents = sizes if whole or len(sizes) == 1 else [1] * len(sizes)
        group = ListGroup(members=members)
        return self._inputs(kind, size_bytes, group, members, start_ns, extents)

    def phase_of_list(self, kind: CollectiveKind, members: Ints) -> PhaseProgram | None:
        """The one phase of a list, and its step table; None where it has several, or has trees."""
        count = int(members.size)
        in_list, name = count < self._npus, "ring"
        if len(self._dimensions) == 1:
            topologies = [dimension.topology for dimension in self._dimensions]
            name = self._system.algorithms(kind, topologies)[0]
        elif not in_list:
            return None
        name = runnable(name, kind, count)
        if name == SYNTHESISED or count < 2 or not (in_list or (members == np.arange(count)).all()):
            return None
        algorithm = algorithm_named(name)
        if isinstance(algorithm, InNetwork) and self._dimensions[0].in_network is not None:
            return None
        row, table = program_row(algorithm, kind, count, in_list=in_list)
        return None if row.peers == PEERS_TREE else (row, table)

    def _members(self, placement: Placement) -> Ints:
        ids = np.zeros(1, np.int64)
        inner = 1
        for dimension, extent, stride in zip(
            self._dimensions, placement.extent, placement.stride, strict=True
        ):
            steps = np.arange(extent, dtype=np.int64) * stride * inner
            ids = (steps[:, None] + ids[None, :]).ravel()
            inner *= dimension.npus
        return ids

    def _ends(self, inputs: EngineInput, members: Ints, *, fold: bool) -> Ints:
        return self._output(inputs, members, fold=fold).finish_ns[members]

    def _output(self, inputs: EngineInput, members: Ints, *, fold: bool) -> EngineOutput:
        from simcore.engines.events.fold.run import run_folded
        from simcore.engines.events.run import run_unfolded

        output = run_folded(inputs) if fold else run_unfolded(inputs)
        if (output.finish_ns[members] < 0).any():
            raise SimulationError(f"a collective never ended: {'; '.join(output.waiting[:3])}")
        return output

    def _inputs(
        self,
        kind: CollectiveKind,
        size_bytes: int,
        group: GridGroup | ListGroup,
        members: Ints,
        start_ns: Ints | None,
        extents: Sequence[int],
    ) -> EngineInput:
        program_of_npu = np.zeros(self._npus, np.int64)
        program_of_npu[members] = 1
        starts = np.zeros(self._npus, np.int64)
        if start_ns is not None:
            starts[members] = start_ns
        return EngineInput(
            backend="congestion_unaware",
            dimensions=engine_dimensions(self._dimensions),
            options=engine_options(
                self._system,
                [dimension.topology for dimension in self._dimensions],
                self._memory_bytes_per_s,
                extents,
            ),
            programs=(_program(None, 0), _program(kind, size_bytes)),
            program_of_npu=program_of_npu,
            groups={_GROUP: group},
            start_ns=starts,
            record_nodes=False,
        )


def _grid(placement: Placement) -> GridGroup:
    return GridGroup(
        extent=np.array(placement.extent, np.int64), stride=np.array(placement.stride, np.int64)
    )


def _program(kind: CollectiveKind | None, size_bytes: int) -> Program:
    """A program of one collective node of group 1, or without any node."""
    nodes = 0 if kind is None else 1

    def full(value: int) -> Ints:
        return np.full(nodes, value, np.int64)

    return Program(
        node_id=np.arange(nodes, dtype=np.uint64),
        kind=np.full(nodes, int(NodeKind.COLLECTIVE), np.int8),
        on_cpu=np.zeros(nodes, np.bool_),
        skipped=np.zeros(nodes, np.bool_),
        duration_ns=full(0),
        comm_kind=np.full(nodes, 0 if kind is None else int(kind), np.int8),
        size_bytes=full(size_bytes),
        priority=full(0),
        group=full(_GROUP),
        involved_dims=full(-1),
        peer=full(-1),
        tag=full(0),
        dep_start=np.zeros(nodes + 1, np.int64),
        dep=np.zeros(0, np.int64),
    )
