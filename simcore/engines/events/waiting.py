"""Says what the NPUs that never finished wait for."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from simcore.engines.events.checks import place
from simcore.engines.events.input import EngineInput
from simcore.engines.events.programs import Program
from simcore.engines.events.writer import TAG_RANGE
from simcore.kernels.events import layout
from simcore.kernels.events.layout import Ints
from simcore.terms import CollectiveKind, NodeKind

_SHOWN = 4


@dataclass(slots=True)
class Unmatched:
    """Messages that the network still held at the end.

    Attributes:
        awaited_from: Per NPU id, senders of messages that never came.
        unclaimed: Per (sender, receiver), (tag, bytes) of messages that nobody received.
    """

    awaited_from: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    unclaimed: dict[tuple[int, int], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )


def waiting_sentences(arena: Ints, table: Ints, inputs: EngineInput) -> tuple[str, ...]:
    """One sentence for each NPU that has not finished.

    Args:
        arena: After the run.
        table: (N, fields) int64, the NPUs in it.
        inputs: The run.
    """
    unfinished = np.flatnonzero(table[:, layout.NPU_FINISH_NS] < 0).tolist()
    if not unfinished:
        return ()
    unmatched = _unmatched(arena)
    sentences = []
    for npu in unfinished:
        program = inputs.table[int(inputs.program_of_npu[npu])]
        first = int(table[npu, layout.NPU_STATE])
        state = arena[first : first + program.kind.size]
        sentences.append(_sentence(npu, program, state, unmatched))
    return tuple(sentences)


def _unmatched(arena: Ints) -> Unmatched:
    found = Unmatched()
    first, slots = int(arena[layout.MATCHES]), int(arena[layout.MATCH_CAPACITY])
    for head in arena[first : first + slots][arena[first : first + slots] != 0].tolist():
        match = head
        while match:
            src, dst = int(arena[match + layout.MATCH_SRC]), int(arena[match + layout.MATCH_DST])
            if arena[match + layout.MATCH_ARRIVED]:
                key = int(arena[match + layout.MATCH_TAG]), int(arena[match + layout.MATCH_BYTES])
                found.unclaimed[src, dst].append(key)
            else:
                found.awaited_from[dst].add(src)
            match = int(arena[match + layout.MATCH_CHAIN])
    return found


def _sentence(npu: int, program: Program, state: Ints, unmatched: Unmatched) -> str:
    issued = np.flatnonzero(state == layout.NODE_ISSUED)
    if issued.size == 0:
        free = np.flatnonzero(state == layout.NODE_READY)
        if free.size == 0:
            return f"NPU {npu} never started."
        node = place(program, int(free[0]), f"NPU {npu}")
        return f"{node} waits for another node to end, but none is running."
    position = int(issued[0])
    node = place(program, position, f"NPU {npu}")
    more = f" ({issued.size - 1} more nodes wait as well)" if issued.size > 1 else ""
    return f"{node} waits for {_awaited(npu, program, position, unmatched)}{more}."


def _awaited(npu: int, program: Program, position: int, unmatched: Unmatched) -> str:
    kind = program.kind[position]
    size, peer = int(program.size_bytes[position]), int(program.peer[position])
    tag, group = int(program.tag[position]), int(program.group[position])
    if kind == NodeKind.RECV:
        came = [
            f"{came_bytes} bytes with tag {came_tag}"
            for came_tag, came_bytes in sorted(unmatched.unclaimed[peer, npu])
            if came_tag < TAG_RANGE
        ]
        instead = f"; it sent {', '.join(came[:_SHOWN])} instead" if came else ""
        return f"{size} bytes with tag {tag} from NPU {peer}, which never sent them{instead}"
    if kind == NodeKind.SEND:
        return f"NPU {peer} to take {size} bytes with tag {tag}"
    name = CollectiveKind(int(program.comm_kind[position])).name.lower()
    members = f"group {group}" if group else "all NPUs"
    silent = sorted(unmatched.awaited_from[npu])
    from_whom = f": nothing comes from NPU {', '.join(map(str, silent[:_SHOWN]))}" if silent else ""
    return f"its {name} of {size} bytes among {members}{from_whom}"
