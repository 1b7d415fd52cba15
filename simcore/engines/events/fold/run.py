"""The folded simulation: of each class of NPUs that must behave identically, one is simulated.

The result equals that of the unfolded simulation, NPU by NPU and to the nanosecond. Where that is
not certain, the run is simulated unfolded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simcore.engines.events.checks import check_inputs
from simcore.engines.events.fold.relations import (
    AlikeSet,
    CannotFoldError,
    alike,
    first_relation,
    lines_of,
    list_slots,
    partners_on,
    passed_rings,
    refuse_own,
    ring_neighbours,
    shared_links,
    ways,
)
from simcore.engines.events.fold.transfers import Ends, Transfers, matched, transfers_of
from simcore.engines.events.input import EngineInput, EngineOutput, Ints, ListGroup, Representatives
from simcore.engines.events.programs import Program, node_actions
from simcore.engines.events.run import run_representatives, run_unfolded
from simcore.errors import ConfigError
from simcore.kernels.events import layout
from simcore.network.base import LinkRule

if TYPE_CHECKING:  # needs a compiler, which few runs do
    from simcore.network.flow import Flow


def run_folded(inputs: EngineInput) -> EngineOutput:
    """Simulate one NPU of each class until nothing is left to happen, or else every NPU.

    Args:
        inputs: The run.

    Returns:
        As ``run_unfolded``, but for fewer events. ``class_of_npu`` says which NPUs were simulated
        as one, ``unfolded_because`` why each was simulated.

    Raises:
        ConfigError: The input breaks a rule.
        SimulationError: The run never comes to an end within the range of time.
    """
    check_inputs(inputs)
    try:
        ((folded, simulated),) = fold([inputs])
        return run_representatives(folded, simulated)
    except (CannotFoldError, ConfigError) as error:  # whose order may be another
        return replace(run_unfolded(inputs), unfolded_because=str(error))


_NONE_ALIKE = "no two NPUs are alike"
_MOST_GROUPS = 30_000
_MOST_NPUS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Compared:
    """A run, and what its NPUs are compared by.

    Attributes:
        inputs: The run.
        slots: Per program the keys of its list groups.
        transfers: Per program its sends and receives.
        answers: Per NPU that sends, which receives meet its sends.
        blocks: NPUs that may be alike.
    """

    inputs: EngineInput
    slots: tuple[tuple[int, ...], ...]
    transfers: list[Transfers]
    answers: dict[int, Ints]
    blocks: list[AlikeSet]

    def cast(self, class_of_npu: Ints) -> Representatives:
        """NPUs that stand for the classes."""
        _, npus = np.unique(class_of_npu, return_index=True)
        return _cast(self.inputs, class_of_npu, npus, self.slots, self.transfers, self.answers)


def fold(inputs: Sequence[EngineInput]) -> list[tuple[EngineInput, Representatives]]:
    """The classes of NPUs that must behave identically, if no order of NPUs ever matters.

    Args:
        inputs: Runs that have been checked. If they are several, they share the links of the
            network that the first one names, on which messages get fair parts.

    Returns:
        Per run the classes, and the run on a network on which their messages stand for all.

    Raises:
        CannotFoldError: No two NPUs can be proven alike; says why.
    """
    if len(inputs) > 1 and not _is_fair(inputs[0]):
        raise CannotFoldError("programs share links on which messages queue")
    for one in inputs:
        _refuse_shared_state(one)
    if all(_surely_different(one) for one in inputs):
        raise CannotFoldError(_NONE_ALIKE)
    compared = [_compared(one) for one in inputs]
    network: Flow | None = None
    if _is_fair(inputs[0]):
        network, classes = _on_links(compared)
    else:
        (only,) = compared
        blocks = _with_passed(only.inputs, only.blocks)
        classes = [alike(only.inputs.program_of_npu.size, blocks)]
    if all(found.max(initial=0) + 1 == found.size for found in classes):
        raise CannotFoldError(_NONE_ALIKE)
    return [
        (one.inputs if network is None else replace(one.inputs, network=network), one.cast(found))
        for one, found in zip(compared, classes, strict=True)
    ]


def _is_fair(inputs: EngineInput) -> bool:
    """True if messages get fair parts of links that are all up."""
    return inputs.backend_class.link_rule is LinkRule.FAIR


def _on_links(compared: Sequence[_Compared]) -> "tuple[Flow, list[Ints]]":
    """A network of links that stand for others, and the classes of each run's NPUs."""
    # imported where used: few runs need them
    from simcore.engines.events.fold.on_links import alike_on_links
    from simcore.network.flow import Flow

    first = compared[0].inputs
    whole = first.network or Flow(first.dimensions)
    assert isinstance(whole, Flow)
    sizes = [one.inputs.program_of_npu.size for one in compared]
    begin = np.cumsum([0, *sizes])
    places, blocks = list[Ints](), list[AlikeSet]()
    for one, at, size in zip(compared, begin[:-1].tolist(), sizes, strict=True):
        places.append(np.arange(size) if one.inputs.where is None else one.inputs.where)
        blocks += [
            AlikeSet(members=own.members + at, traits=own.traits, partners=own.partners + at)
            for own in one.blocks
        ]
    found = alike_on_links(int(begin[-1]), blocks, np.concatenate(places), whole.graph)
    parts = np.split(found.class_of_npu, begin[1:-1])
    # classes are numbered by their first members, and no class has members of two runs
    classes = [part - part[0] for part in parts]
    return Flow(whole.dimensions, found.ways), classes


def _compared(inputs: EngineInput) -> _Compared:
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
    return _Compared(
        inputs=inputs, slots=slots, transfers=transfers, answers=answers, blocks=blocks
    )


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
    if inputs.backend_class.kernel_code == layout.OUTSIDE and not _is_fair(inputs):
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
    traits = _traits_of_ways(inputs, npus, partners)
    traits += [line.index_of(npus)[:, None] for line in lines if line.places]
    if inputs.start_ns is not None:
        traits.append(inputs.start_ns[npus][:, None])
    if transfers[first].sends.keys:
        traits.append(np.stack([answers[npu] for npu in npus.tolist()]))
    return AlikeSet(members=npus, traits=np.concatenate(traits, axis=1), partners=partners)


def _traits_of_ways(inputs: EngineInput, npus: Ints, partners: Ints) -> list[Ints]:
    """Marks of the ways to the partners, by themselves and among each other."""
    if _is_fair(inputs):
        refuse_own(npus, partners)
        return [first_relation(partners)]
    return [ways(inputs, npus, partners), shared_links(inputs, partners)]


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
