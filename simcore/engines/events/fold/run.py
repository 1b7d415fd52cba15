"""The folded simulation: of each class of NPUs that must behave identically, one is simulated.

The result equals that of the unfolded simulation, NPU by NPU and to the nanosecond. Where that is
not certain, the run is simulated unfolded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simcore.engines.events.checks import check_inputs
from simcore.engines.events.fold.relations import (
    AlikeSet,
    CannotFoldError,
    alike,
    lines_of,
    list_slots,
    partners_on,
    passed_rings,
    ring_neighbours,
    shared_links,
    ways,
)
from simcore.engines.events.input import EngineInput, EngineOutput, Ints, ListGroup, Representatives
from simcore.engines.events.programs import Program, node_actions
from simcore.engines.events.run import run_representatives, run_unfolded
from simcore.engines.events.writer import TAG_RANGE
from simcore.errors import ConfigError, SimulationError
from simcore.kernels.events import layout

Key = tuple[int, int, int]
"""Peer, tag and bytes: what sends and receives find each other by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ends:
    """The sends (or the receives) of a program.

    Attributes:
        keys: Distinct keys, in order of appearance.
        rows: (E,) int64, positions of the nodes.
        key_of: (E,) int64, key of each.
        nodes: Nodes of the program.
    """

    keys: tuple[Key, ...]
    rows: Ints
    key_of: Ints
    nodes: int

    def spread(self, values: Ints) -> Ints:
        """(T,) int64: *values*, (E,), at the positions of these nodes, else 0."""
        out = np.zeros(self.nodes, np.int64)
        out[self.rows] = values
        return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfers:
    """Sends and receives of a program.

    Attributes:
        sends: The sends.
        receives: The receives.
        peers: (P,) int64, distinct peers, in order of appearance.
        pattern: Arrays that say which transfers share keys and peers, whatever these are.
    """

    sends: Ends
    receives: Ends
    peers: Ints
    pattern: tuple[Ints, ...]


def transfers_of(program: Program, action: Ints) -> Transfers:
    """The transfers of a program; *action* is (T,) int64, what its nodes do."""
    sends = _ends(program, np.flatnonzero(action == layout.ACTION_SEND))
    receives = _ends(program, np.flatnonzero(action == layout.ACTION_RECV))
    both = [*sends.keys, *receives.keys]
    peers = list(dict.fromkeys(peer for peer, _, _ in both))
    peer_of = [peers.index(peer) for peer, _, _ in both] if both else []
    return Transfers(
        sends=sends,
        receives=receives,
        peers=np.array(peers, np.int64),
        pattern=(sends.key_of, receives.key_of, np.array(peer_of, np.int64)),
    )


def _ends(program: Program, rows: Ints) -> Ends:
    keys = list(
        zip(
            program.peer[rows].tolist(),
            (program.tag[rows] % TAG_RANGE).tolist(),
            program.size_bytes[rows].tolist(),
            strict=True,
        )
    )
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return Ends(
        keys=tuple(number),
        rows=rows,
        key_of=np.array([number[key] for key in keys], np.int64),
        nodes=program.kind.size,
    )


def matched(program_of_npu: Ints, transfers: Sequence[Transfers]) -> dict[int, Ints]:
    """Per NPU that sends, for each key of its sends the key of its peer's receives.

    Raises:
        CannotFoldError: Nobody receives a message.
    """
    answers: dict[int, Ints] = {}
    index = program_of_npu.tolist()
    numbers = [{key: place for place, key in enumerate(t.receives.keys)} for t in transfers]
    for npu, program in enumerate(index):
        found = [
            numbers[index[peer]].get((npu, tag, size), -1)
            for peer, tag, size in transfers[program].sends.keys
        ]
        if -1 in found:
            raise CannotFoldError("a message has no receiver")
        if found:
            answers[npu] = np.array(found, np.int64)
    return answers


class TooManyNodesError(SimulationError):
    """NPUs that have to be followed have more nodes than is asked for.

    Attributes:
        nodes: How many.
    """

    def __init__(self, nodes: int) -> None:
        super().__init__(f"there are {nodes} nodes to follow")
        self.nodes = nodes


def run_folded(inputs: EngineInput, most_nodes: int | None = None) -> EngineOutput:
    """Simulate one NPU of each class until nothing is left to happen, or else every NPU.

    Args:
        inputs: The run.
        most_nodes: Nodes that the NPUs which are simulated may have together; None: any number.

    Returns:
        As ``run_unfolded``, but for fewer events. ``class_of_npu`` says which NPUs were simulated
        as one, ``unfolded_because`` why each was simulated.

    Raises:
        ConfigError: The input breaks a rule.
        TooManyNodesError: There are more than *most_nodes*.
        SimulationError: The run never comes to an end within the range of time.
    """
    check_inputs(inputs)
    try:
        simulated = fold(inputs)
        _refuse_many(simulated.programs.sizes[simulated.program_of], most_nodes)
        return run_representatives(inputs, simulated)
    except (CannotFoldError, ConfigError) as error:  # whose order may be another
        _refuse_many(inputs.table.sizes[inputs.program_of_npu], most_nodes)
        return replace(run_unfolded(inputs), unfolded_because=str(error))


def _refuse_many(nodes: Ints, most: int | None) -> None:
    if most is not None and int(nodes.sum()) > most:
        raise TooManyNodesError(int(nodes.sum()))


_MOST_GROUPS = 30_000
_MOST_NPUS = 1 << 20


def fold(inputs: EngineInput) -> Representatives:
    """The classes of NPUs that must behave identically, if no order of NPUs ever matters.

    Args:
        inputs: A run that has been checked.

    Raises:
        CannotFoldError: No two NPUs can be proven alike; says why.
    """
    _refuse_shared_state(inputs)
    if _surely_different(inputs):
        raise CannotFoldError("no two NPUs are alike")
    programs = list(inputs.programs)
    actions = [node_actions(program) for program in programs]
    rows = [np.flatnonzero(action == layout.ACTION_COLLECTIVE) for action in actions]
    slots = tuple(list_slots(inputs, p, r) for p, r in zip(programs, rows, strict=True))
    transfers = [transfers_of(p, a) for p, a in zip(programs, actions, strict=True)]
    shape_of: dict[bytes, int] = {}
    shapes = [
        shape_of.setdefault(_shape(inputs, *parts), len(shape_of))
        for parts in zip(programs, slots, transfers, strict=True)
    ]
    answers = matched(inputs.program_of_npu, transfers)
    shape_of_npu = np.array(shapes, np.int64)[inputs.program_of_npu]
    blocks = []
    for shape in range(len(shape_of)):
        npus = np.flatnonzero(shape_of_npu == shape)
        if npus.size:
            index = int(inputs.program_of_npu[npus[0]])
            blocks.append(_block(inputs, npus, rows[index], slots, transfers, answers))
    _require_all_members(inputs, slots)
    class_of_npu = alike(shape_of_npu.size, _with_passed(inputs, blocks))
    _, npus = np.unique(class_of_npu, return_index=True)
    if npus.size == class_of_npu.size:
        raise CannotFoldError("no two NPUs are alike")
    return _cast(inputs, class_of_npu, npus, slots, transfers, answers)


def _surely_different(inputs: EngineInput) -> bool:
    """True if nodes, sizes and kinds of collectives alone make every NPU one of its own."""
    bodies, transfers = inputs.table.bodies, inputs.table.transfers
    kinds = transfers.comm_kind.astype(np.int64)
    mixed = transfers.size_bytes * 0x9E3779B9 + kinds * 0x7F4A7C15 + transfers.at
    mixed = (mixed ^ mixed >> 31) * 0x6A09E667F3BCC909
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(mixed)))[transfers.first]
    marks = bodies.marks()[inputs.table.body_of].view(np.int64) ^ np.diff(sums)
    of_npu = marks[inputs.program_of_npu]
    return np.unique(of_npu).size == of_npu.size


def _refuse_shared_state(inputs: EngineInput) -> None:
    options = inputs.options
    shared = inputs.remote_memory.kind in ("per_node", "pool")
    reason = ""
    if inputs.backend_class.kernel_code == layout.OUTSIDE:
        reason = "the network takes every message by itself"
    elif options.has_schedules and inputs.backend_class.messages_meet:
        reason = "members of a synthesised collective send over links of others"
    elif options.rendezvous:
        reason = "rendezvous sends messages both ways"
    elif inputs.custom.by_kind or inputs.custom.by_node:
        reason = "custom collectives give every member a program of its own"
    elif shared and bool((inputs.table.bodies.action == layout.ACTION_MEMORY).any()):
        reason = "NPUs share memory servers"
    elif len(inputs.groups) > _MOST_GROUPS or inputs.program_of_npu.size > _MOST_NPUS:
        reason = "the machine is too large to compare its NPUs"
    if reason:
        raise CannotFoldError(reason)


def _shape(
    inputs: EngineInput, program: Program, slots: tuple[int, ...], transfers: Transfers
) -> bytes:
    """Form of a program apart from the names of groups, peers and tags."""
    group = program.group.copy()
    sizes = []
    for place, key in enumerate(slots):
        members = inputs.groups[key]
        assert isinstance(members, ListGroup)
        group[program.group == key] = -1 - place
        sizes.append(members.members.size)
    columns = (
        program.kind, program.on_cpu, program.skipped, program.duration_ns, program.comm_kind,
        program.size_bytes, program.priority, group, program.involved_dims, program.dep_start,
        program.dep, np.array(sizes, np.int64), *transfers.pattern,
    )  # fmt: skip
    return b"".join(
        part for column in columns for part in (column.size.to_bytes(8), column.tobytes())
    )


def _block(
    inputs: EngineInput,
    npus: Ints,
    rows: Ints,
    slots: tuple[tuple[int, ...], ...],
    transfers: list[Transfers],
    answers: Mapping[int, Ints],
) -> AlikeSet:
    """The NPUs of one shape with what distinguishes them and all of their partners."""
    index = inputs.program_of_npu[npus]
    first = int(index[0])
    lines = lines_of(inputs, inputs.programs[first], slots[first], rows)
    columns = []
    for line in lines:
        programs = index.tolist() if line.slot >= 0 else []
        lists = [_members(inputs, slots[program][line.slot]) for program in programs]
        columns.append(partners_on(line, npus, lists))
    if transfers[first].peers.size:
        columns.append(np.stack([transfers[i].peers for i in index.tolist()]))
    partners = np.concatenate(columns, axis=1) if columns else np.empty((npus.size, 0), np.int64)
    traits = [ways(inputs, npus, partners), shared_links(inputs, partners)]
    traits += [line.index_of(npus)[:, None] for line in lines if line.places]
    if inputs.start_ns is not None:
        traits.append(inputs.start_ns[npus][:, None])
    if transfers[first].sends.keys:
        traits.append(np.stack([answers[npu] for npu in npus.tolist()]))
    return AlikeSet(members=npus, traits=np.concatenate(traits, axis=1), partners=partners)


def _with_passed(inputs: EngineInput, blocks: list[AlikeSet]) -> list[AlikeSet]:
    """The blocks with the neighbours on rings along which messages of any of them pass NPUs."""
    rings = sorted(
        {
            ring
            for block in blocks
            for ring in passed_rings(inputs, block.traits[:, : block.partners.shape[1]])
        }
    )
    if not rings:
        return blocks
    return [
        replace(
            block,
            partners=np.concatenate(
                (block.partners, ring_neighbours(inputs, block.members, rings)), axis=1
            ),
        )
        for block in blocks
    ]


def _require_all_members(inputs: EngineInput, slots: tuple[tuple[int, ...], ...]) -> None:
    """A member that never joins a collective of its group keeps the others waiting."""
    joins = [set(keys) for keys in slots]
    program_of = inputs.program_of_npu.tolist()
    for key in set().union(*joins):
        if any(key not in joins[program_of[npu]] for npu in _members(inputs, key).tolist()):
            raise CannotFoldError("a member never joins a collective of its group")


def _members(inputs: EngineInput, key: int) -> Ints:
    group = inputs.groups[key]
    assert isinstance(group, ListGroup)
    return group.members


def _cast(
    inputs: EngineInput,
    class_of_npu: Ints,
    npus: Ints,
    slots: tuple[tuple[int, ...], ...],
    transfers: list[Transfers],
    answers: Mapping[int, Ints],
) -> Representatives:
    """The NPUs that stand for the classes; those with sends get a program each."""
    program_of = inputs.program_of_npu[npus].tolist()
    runs = [
        (program, npu if transfers[program].sends.keys else -1)
        for program, npu in zip(program_of, npus.tolist(), strict=True)
    ]
    place = {run: number for number, run in enumerate(dict.fromkeys(runs))}
    seen = []
    for program, npu in place:
        sends = transfers[program].sends
        receives = [transfers[program_of[class_of_npu[peer]]].receives for peer, _, _ in sends.keys]
        found = answers[npu].tolist() if receives else []
        first, end = inputs.table.transfers.first[program : program + 2].tolist()
        at = inputs.table.transfers.at[first:end]
        seen.append([column[at] for column in _awaited(sends, receives, found)])
    tags, sources = (np.concatenate(columns) for columns in zip(*seen, strict=True))
    return Representatives(
        class_of_npu=class_of_npu,
        npus=npus,
        programs=inputs.table.take(np.array([program for program, _ in place], np.int64)),
        program_of=np.array([place[run] for run in runs], np.int64),
        seen=(tags, sources),
        slots=slots,
    )


def _awaited(sends: Ends, receives: Sequence[Ends], answers: Sequence[int]) -> tuple[Ints, Ints]:
    """Tags and senders, (T,) int64 each, by which *sends* are awaited.

    Per key, *receives* are those of its peer's stand-in; *answers* says which key of them meets it.
    """
    keys = [ends.keys[answer][:2] for ends, answer in zip(receives, answers, strict=True)]
    sender, tag = np.array(keys, np.int64).reshape(-1, 2)[sends.key_of].T
    return sends.spread(tag), sends.spread(sender)
