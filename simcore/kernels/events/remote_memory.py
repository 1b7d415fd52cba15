"""Remote memory: latency plus bytes over bandwidth, alone or one request after the other."""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.arena import new_event
from simcore.kernels.events.structures.event_queue import do_later, register
from simcore.kernels.events.structures.keyed_fifo import append, pop


@kernel
def request_memory(arena: Ints, npu: int, position: int) -> None:
    """Serve the load or store of a node, at once or when its server is free."""
    if arena[f.MEMORY_SERVERS] == 0:
        delay_ns = _service_ns(arena, npu, position)
        do_later(arena, npu, delay_ns, f.DO_NODE_DONE, npu, position)
        return
    index = arena[npu + f.NPU_ID] // arena[f.NPUS_PER_SERVER]
    server = arena[f.MEMORY_SERVERS] + index * f.SERVER_WORDS
    request = new_event(arena, f.DO_NODE_DONE, npu, position)
    append(arena, server + f.SERVER_LINE, request)
    if arena[server + f.SERVER_BUSY] == 0:
        arena[server + f.SERVER_BUSY] = 1
        serve_next(arena, server)


@kernel
def serve_next(arena: Ints, server: int) -> None:
    """Start the request that waits longest; the server falls idle where there is none."""
    if arena[server + f.SERVER_LINE + f.FIFO_HEAD] == 0:
        arena[server + f.SERVER_BUSY] = 0
        return
    request = pop(arena, server + f.SERVER_LINE)
    npu = arena[request + f.EVENT_A]
    delay_ns = _service_ns(arena, npu, arena[request + f.EVENT_B])
    register(arena, npu, delay_ns, request)
    do_later(arena, npu, delay_ns, f.DO_SERVER_NEXT, server, f.NOTHING)


@kernel
def _service_ns(arena: Ints, npu: int, position: int) -> int:
    program = arena[npu + f.NPU_PROGRAM]
    value = arena[arena[program + f.PROGRAM_TABLE] + position * f.NODE_WORDS + f.NODE_VALUE]
    size = arena[arena[program + f.PROGRAM_DETAILS] + value * f.DETAIL_WORDS + f.DETAIL_BYTES]
    if arena[f.MEMORY_BYTES_PER_NS] == 0:
        return arena[f.MEMORY_LATENCY_NS]
    return arena[f.MEMORY_LATENCY_NS] + int(size / arena[f.MEMORY_BYTES_PER_NS])
