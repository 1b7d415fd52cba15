"""Says what the NPUs that never finished wait for."""

import numpy as np

from simcore.kernels.engine import layout
from simcore.kernels.engine.layout import Ints
from simcore.system.engine_input import EngineInput, Program
from simcore.system.unfolded_checks import place
from simcore.terms import CollectiveKind, NodeKind


def waiting_sentences(arena: Ints, table: Ints, inputs: EngineInput) -> tuple[str, ...]:
    """One sentence for each NPU that has not finished.

    Args:
        arena: After the run.
        table: (N, fields) int64, the NPUs in it.
        inputs: The run.
    """
    sentences = []
    for npu in np.flatnonzero(table[:, layout.NPU_FINISH_NS] < 0).tolist():
        program = inputs.programs[int(inputs.program_of_npu[npu])]
        first = int(table[npu, layout.NPU_STATE])
        state = arena[first : first + program.kind.size]
        sentences.append(_sentence(npu, program, state))
    return tuple(sentences)


def _sentence(npu: int, program: Program, state: Ints) -> str:
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
    return f"{node} waits for {_awaited(program, position)}{more}."


def _awaited(program: Program, position: int) -> str:
    kind = program.kind[position]
    size, peer = int(program.size_bytes[position]), int(program.peer[position])
    tag, group = int(program.tag[position]), int(program.group[position])
    if kind == NodeKind.RECV:
        return f"{size} bytes with tag {tag} from NPU {peer}, which never sent them"
    if kind == NodeKind.SEND:
        return f"NPU {peer} to take {size} bytes with tag {tag}"
    name = CollectiveKind(int(program.comm_kind[position])).name.lower()
    members = f"group {group}" if group else "all NPUs"
    return f"the other members of its {name} of {size} bytes in {members}"
