"""Remote memory: latency plus bytes over bandwidth, alone or one request after the other.

Ports of one NPU by itself serve requests of known times, that of the lowest node first.
"""

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
    size = arena[_detail_of(arena, npu, position) + f.DETAIL_BYTES]
    if arena[f.MEMORY_BYTES_PER_NS] == 0:
        return arena[f.MEMORY_LATENCY_NS]
    return arena[f.MEMORY_LATENCY_NS] + int(size / arena[f.MEMORY_BYTES_PER_NS])


@kernel
def request_port(arena: Ints, npu: int, position: int) -> None:
    """Serve a node at its port, at once or when the port is free."""
    port = _port_of(arena, npu, position)
    request = new_event(arena, f.DO_NODE_DONE, npu, position)
    before, after = 0, arena[port + f.SERVER_LINE + f.FIFO_HEAD]
    while after != 0 and arena[after + f.EVENT_B] < position:
        before, after = after, arena[after + f.EVENT_NEXT]
    arena[request + f.EVENT_NEXT] = after
    arena[(port + f.SERVER_LINE + f.FIFO_HEAD) if before == 0 else before + f.EVENT_NEXT] = request
    if arena[port + f.SERVER_BUSY] == 0:
        _serve_port(arena, port)


@kernel
def leave_port(arena: Ints, npu: int, position: int) -> None:
    """Free the port of a node that has ended, for the lowest one that waits."""
    port = _port_of(arena, npu, position)
    arena[port + f.SERVER_BUSY] = 0
    if arena[port + f.SERVER_LINE + f.FIFO_HEAD] != 0:
        _serve_port(arena, port)


@kernel
def _serve_port(arena: Ints, port: int) -> None:
    arena[port + f.SERVER_BUSY] = 1
    request = pop(arena, port + f.SERVER_LINE)
    npu, position = arena[request + f.EVENT_A], arena[request + f.EVENT_B]
    if arena[f.RECORD_NODES] != 0:  # it starts when it is served
        arena[arena[npu + f.NPU_START] + position] = arena[f.NOW_NS]
    delay_ns = arena[_detail_of(arena, npu, position) + f.DETAIL_BYTES]
    register(arena, npu, delay_ns, request)


@kernel
def _port_of(arena: Ints, npu: int, position: int) -> int:
    number = arena[_detail_of(arena, npu, position) + f.DETAIL_PEER]
    index = arena[npu + f.NPU_ID] * arena[f.NPUS_PER_SERVER] + number
    return arena[f.MEMORY_SERVERS] + index * f.SERVER_WORDS


@kernel
def _detail_of(arena: Ints, npu: int, position: int) -> int:
    program = arena[npu + f.NPU_PROGRAM]
    value = arena[arena[program + f.PROGRAM_TABLE] + position * f.NODE_WORDS + f.NODE_VALUE]
    return arena[program + f.PROGRAM_DETAILS] + value * f.DETAIL_WORDS
