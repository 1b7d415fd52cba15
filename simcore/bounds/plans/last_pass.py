"""The last backward pass of a stage, in whose communication slot gradients are summed too."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from simcore.bounds.plans.slot_order import Room, SlotOrder
from simcore.bounds.plans.stage_paths import LastPass, Segment, StageReader
from simcore.terms import NodeKind


def last_pass(reader: StageReader, unit: int, leaves: Collection[int]) -> LastPass:
    """Read the last pass of a stage.

    It is cut before nodes that all later ones wait for, and for nothing else that is earlier.

    Args:
        reader: Of the stage.
        unit: The last one before the optimizer step.
        leaves: Nodes of it that the next stage waits for.
    """
    begin, end, stop = reader.unit_start[unit : unit + 3]
    key = reader.pass_key(unit, stop, leaves), end - begin
    found = reader.known.last_passes.get(key)
    if found is None:
        found = reader.known.last_passes[key] = _read(reader, unit, leaves)
    return found


def _read(reader: StageReader, unit: int, leaves: Collection[int]) -> LastPass:
    begin, end, stop = reader.unit_start[unit : unit + 3]
    order = SlotOrder(reader, range(begin, end), range(end, stop), leaves)
    if not order.before:
        return LastPass(segments=(), rooms=frozenset())
    nodes: list[int] = []
    for node in order.nodes:
        if node in order.before:
            nodes.append(order.before[node])
        if reader.kind[node] in (NodeKind.COMPUTE, NodeKind.COLLECTIVE):
            nodes.append(node)
    deps = _dependencies(reader, order, nodes)
    final = max(at for at, node in enumerate(nodes) if reader.kind[node] == NodeKind.COMPUTE)
    cuts = [*_cuts(deps, final), len(nodes)]
    entry = set(reader.entry(unit))
    entries = [
        at
        for at, node in enumerate(nodes[: cuts[1]])
        if entry <= set(reader.deps(node)) and (entry or not deps[at])
    ]
    ends = [at for at, node in enumerate(nodes) if node in leaves]
    segments = tuple(
        _segment(reader, nodes[start:stop], start, deps[start:stop],
                 entries=[0] if start else entries,
                 exits=deps[stop] if stop < len(nodes) else ends)
        for start, stop in pairwise(cuts)
    )  # fmt: skip
    item = reader.item
    rooms = frozenset(Room(tuple(item[n] for n in r.beside), item[r.compute]) for r in order.rooms)
    return LastPass(segments=segments, rooms=rooms)


def _dependencies(
    reader: StageReader, order: SlotOrder, nodes: Sequence[int]
) -> list[Sequence[int]]:
    """Places of what each of *nodes* waits for, those of late ones without what others wait for."""
    place = {node: at for at, node in enumerate(nodes)}
    found: list[Sequence[int]] = []
    for node in nodes:
        deps = [*reader.deps(node), *order.waits.get(node, ())]
        if node in order.before:
            deps.append(order.before[node])
        places = [place[dep] for dep in deps if dep in place]
        if node in order.waits:
            places = _last_ones(places, found)
        found.append(places)
    return found


def _last_ones(places: Sequence[int], deps: Sequence[Sequence[int]]) -> list[int]:
    """*places* but for those that others among them wait for."""
    earliest, waiting, known = min(places, default=0), list(places), set[int]()
    while waiting:
        new = {dep for dep in deps[waiting.pop()] if dep >= earliest} - known
        known |= new
        waiting.extend(new)
    return [at for at in places if at not in known]


def _cuts(deps: Sequence[Sequence[int]], final: int) -> list[int]:
    """Places up to *final* that all behind them wait for, and the first place."""
    cuts, earliest = [], len(deps)
    for at in reversed(range(1, len(deps))):
        if earliest >= at and deps[at] and at <= final:
            cuts.append(at)
        earliest = min([earliest, *deps[at]])
    return [0, *reversed(cuts)]


def _segment(
    reader: StageReader,
    nodes: Sequence[int],
    start: int,
    deps: Sequence[Sequence[int]],
    *,
    entries: Sequence[int],
    exits: Sequence[int],
) -> Segment:
    computes = [at for at, node in enumerate(nodes) if reader.kind[node] == NodeKind.COMPUTE]
    return Segment(
        nodes=tuple((reader.kind[node], reader.item[node]) for node in nodes),
        deps=tuple(tuple(sorted({dep - start for dep in own if dep >= start})) for own in deps),
        entries=tuple(entries),
        exits=tuple(sorted({at - start for at in exits if at >= start})),
        last=max(computes, default=len(nodes) - 1),
    )
