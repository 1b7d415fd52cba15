"""Remote memory: latency plus bytes over bandwidth, alone or one request after the other."""

from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import (
    DETAIL_BYTES,
    DETAIL_WORDS,
    DO_NODE_DONE,
    DO_SERVER_NEXT,
    EVENT_A,
    EVENT_B,
    FIFO_HEAD,
    MEMORY_BYTES_PER_NS,
    MEMORY_LATENCY_NS,
    MEMORY_SERVERS,
    NODE_VALUE,
    NODE_WORDS,
    NOTHING,
    NPU_ID,
    NPU_PROGRAM,
    NPUS_PER_SERVER,
    PROGRAM_DETAILS,
    PROGRAM_TABLE,
    SERVER_BUSY,
    SERVER_LINE,
    SERVER_WORDS,
    Ints,
)
from simcore.kernels.events.structures.arena import new_event
from simcore.kernels.events.structures.event_queue import do_later, register
from simcore.kernels.events.structures.keyed_fifo import append, pop


@kernel
def request_memory(arena: Ints, npu: int, position: int) -> None:
    """Serve the load or store of a node, at once or when its server is free."""
    if arena[MEMORY_SERVERS] == 0:
        delay_ns = _service_ns(arena, npu, position)
        do_later(arena, npu, delay_ns, DO_NODE_DONE, npu, position)
        return
    index = arena[npu + NPU_ID] // arena[NPUS_PER_SERVER]
    server = arena[MEMORY_SERVERS] + index * SERVER_WORDS
    request = new_event(arena, DO_NODE_DONE, npu, position)
    append(arena, server + SERVER_LINE, request)
    if arena[server + SERVER_BUSY] == 0:
        arena[server + SERVER_BUSY] = 1
        serve_next(arena, server)


@kernel
def serve_next(arena: Ints, server: int) -> None:
    """Start the request that waits longest; the server falls idle where there is none."""
    if arena[server + SERVER_LINE + FIFO_HEAD] == 0:
        arena[server + SERVER_BUSY] = 0
        return
    request = pop(arena, server + SERVER_LINE)
    npu = arena[request + EVENT_A]
    delay_ns = _service_ns(arena, npu, arena[request + EVENT_B])
    register(arena, npu, delay_ns, request)
    do_later(arena, npu, delay_ns, DO_SERVER_NEXT, server, NOTHING)


@kernel
def _service_ns(arena: Ints, npu: int, position: int) -> int:
    program = arena[npu + NPU_PROGRAM]
    value = arena[arena[program + PROGRAM_TABLE] + position * NODE_WORDS + NODE_VALUE]
    size = arena[arena[program + PROGRAM_DETAILS] + value * DETAIL_WORDS + DETAIL_BYTES]
    if arena[MEMORY_BYTES_PER_NS] == 0:
        return arena[MEMORY_LATENCY_NS]
    return arena[MEMORY_LATENCY_NS] + int(size / arena[MEMORY_BYTES_PER_NS])
