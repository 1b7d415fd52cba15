"""Collectives as streams: cut into chunks, phase after phase, through the queues of the NPU."""

from simcore.kernels.collectives.records import LIST_DELAY_NS, PEERS_CUSTOM, PEERS_TREE
from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.custom import begin_custom
from simcore.kernels.events.double_tree import begin_tree
from simcore.kernels.events.fold.ties import touch
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.members import position_of
from simcore.kernels.events.stepwise import begin_steps
from simcore.kernels.events.structures.arena import allocate, clear, release
from simcore.kernels.events.structures.event_queue import do_later

LIFO, FIFO, EXPLICIT = 0, 1, 2
_CHOICE_QUEUE = f.CHOICE_BACKWARDS - 1


@kernel
def issue_collective(arena: Ints, rates: Floats, npu: int, detail: int, position: int) -> None:
    """Cut the buffer of a collective node into streams and let them enter their queues."""
    plan = arena[detail + f.DETAIL_PLAN]
    size, smallest = arena[detail + f.DETAIL_BYTES], arena[plan + f.PLAN_SMALLEST_CHUNK]
    chunk = size // arena[f.CHUNKS]
    if arena[plan + f.PLAN_GATHERS] != 0:
        chunk = max(chunk, 1)
        if arena[f.EMPTY_GATHERS_WAIT] == 0:
            size = max(size, 1)
    elif chunk < smallest:
        chunk, size = smallest, smallest * arena[f.CHUNKS]
    streams = (size + chunk - 1) // chunk
    if arena[plan + f.PLAN_CUSTOM] != 0:
        streams = 1
    priority = arena[detail + f.DETAIL_PRIORITY]
    if arena[f.SCHEDULING] != EXPLICIT:
        priority = arena[npu + f.NPU_PRIORITY]
        arena[npu + f.NPU_PRIORITY] += 1 if arena[f.SCHEDULING] == LIFO else -1
    collective = allocate(arena, f.COLLECTIVE_WORDS)
    arena[collective + f.COLLECTIVE_NODE] = position
    arena[collective + f.COLLECTIVE_STREAMS_LEFT] = streams
    counter = arena[npu + f.NPU_GROUP_COUNTS] + arena[detail + f.DETAIL_GROUP_COUNT]
    for chunk_number in range(streams):
        stream = _new_stream(arena, npu, plan, chunk_number)
        arena[stream + f.STREAM_COLLECTIVE] = collective
        group = arena[plan + f.PLAN_GROUP]
        arena[stream + f.STREAM_TAG] = (group + 1) * f.TAGS_PER_GROUP + arena[counter]
        arena[counter] += 1
        arena[stream + f.STREAM_BYTES] = chunk
        arena[stream + f.STREAM_PRIORITY] = priority
        queue = _queue_of(arena, stream)
        _enter(arena, queue, stream)
        _look_at(arena, rates, npu, queue)


@kernel
def _new_stream(arena: Ints, npu: int, plan: int, chunk_number: int) -> int:
    """A stream whose queues, directions and trees are chosen for all of its phases."""
    phases = arena[plan + f.PLAN_PHASES]
    stream = allocate(arena, f.STREAM_WORDS + phases)
    arena[stream + f.STREAM_NPU] = npu
    arena[stream + f.STREAM_PLAN] = plan
    arena[stream + f.STREAM_PHASE] = 0
    table = arena[arena[plan + f.PLAN_ORDERS] + chunk_number % arena[plan + f.PLAN_ORDER_COUNT]]
    arena[stream + f.STREAM_TABLE] = table
    for p in range(phases):
        phase = table + p * f.PHASE_WORDS
        choice = _choose_queue(arena, npu, phase)
        if arena[phase + f.PHASE_PEERS] == PEERS_TREE:
            counter = _trees(arena, npu) + arena[phase + f.PHASE_TREE]
            if arena[counter] == 0:
                choice |= f.CHOICE_MAX_TREE
            arena[counter] ^= 1
        arena[stream + f.STREAM_WORDS + p] = choice
    return stream


@kernel
def _choose_queue(arena: Ints, npu: int, phase: int) -> int:
    """Queue and direction, round robin: separately for plain, first and last passes."""
    queues, way = arena[f.QUEUES], arena[phase + f.PHASE_PASS]
    base = arena[phase + f.PHASE_DIMENSION] * queues
    if way == f.PASS_FIXED:
        return base
    counter = _rounds(arena, npu) + arena[phase + f.PHASE_DIMENSION] * f.ROUND_WORDS + way
    chosen = arena[counter]
    first, end = 0, queues
    if way == f.PASS_FIRST:
        end = max(queues // 2, 1)
    elif way == f.PASS_LAST:
        first = queues // 2
    arena[counter] = (chosen + 1) % (end - first)
    backwards = way == f.PASS_LAST
    if way == f.PASS_PLAIN and queues > 1:
        backwards = chosen >= queues // 2
    return base + first + chosen + (f.CHOICE_BACKWARDS if backwards else 0)


@kernel
def _rounds(arena: Ints, npu: int) -> int:
    return npu + f.NPU_WORDS + arena[f.DIMENSIONS] * arena[f.QUEUES] * f.QUEUE_WORDS


@kernel
def _trees(arena: Ints, npu: int) -> int:
    return _rounds(arena, npu) + arena[f.DIMENSIONS] * f.ROUND_WORDS


@kernel
def _queue_of(arena: Ints, stream: int) -> int:
    """The queue in which the stream's present phase runs."""
    choice = arena[stream + f.STREAM_WORDS + arena[stream + f.STREAM_PHASE]]
    return arena[stream + f.STREAM_NPU] + f.NPU_WORDS + (choice & _CHOICE_QUEUE) * f.QUEUE_WORDS


@kernel
def _enter(arena: Ints, queue: int, stream: int) -> None:
    """Wait behind all streams of the same or a higher priority."""
    touch(arena, queue + f.QUEUE_MARK)
    head, tail = arena[queue + f.QUEUE_HEAD], arena[queue + f.QUEUE_TAIL]
    if head == 0 or _goes_before(arena, stream, head):
        arena[stream + f.STREAM_NEXT] = head
        arena[queue + f.QUEUE_HEAD] = stream
        if head == 0:
            arena[queue + f.QUEUE_TAIL] = stream
        return
    before = head
    if not _goes_before(arena, stream, tail):
        before = tail
    after = arena[before + f.STREAM_NEXT]
    while before != tail and not _goes_before(arena, stream, after):
        before = after
        after = arena[before + f.STREAM_NEXT]
    arena[stream + f.STREAM_NEXT] = 0 if before == tail else after
    arena[before + f.STREAM_NEXT] = stream
    if before == tail:
        arena[queue + f.QUEUE_TAIL] = stream


@kernel
def _look_at(arena: Ints, rates: Floats, npu: int, queue: int) -> None:
    """Start streams at once, or when all that come at this time are there."""
    touch(arena, queue + f.QUEUE_MARK)
    if arena[f.GATHERED] == 0:
        start_waiting(arena, rates, queue)
    elif (
        arena[queue + f.QUEUE_RUNNING] < arena[f.ACTIVE_LIMIT] and arena[queue + f.QUEUE_HEAD] != 0
    ):
        do_later(arena, npu, f.NOTHING, f.DO_QUEUE, queue, f.NOTHING)


@kernel
def _goes_before(arena: Ints, one: int, other: int) -> bool:
    """True if a stream that comes later overtakes *other*, which waits."""
    a, b = arena[one + f.STREAM_PRIORITY], arena[other + f.STREAM_PRIORITY]
    if arena[f.GATHERED] != 0 and a == b:
        return arena[one + f.STREAM_TAG] < arena[other + f.STREAM_TAG]
    return a > b


@kernel
def start_waiting(arena: Ints, rates: Floats, queue: int) -> None:
    """Start streams that wait in *queue* while it may run more."""
    touch(arena, queue + f.QUEUE_MARK)
    while (
        arena[queue + f.QUEUE_RUNNING] < arena[f.ACTIVE_LIMIT] and arena[queue + f.QUEUE_HEAD] != 0
    ):
        stream = arena[queue + f.QUEUE_HEAD]
        arena[queue + f.QUEUE_HEAD] = arena[stream + f.STREAM_NEXT]
        arena[queue + f.QUEUE_RUNNING] += 1
        _begin_phase(arena, rates, stream)


@kernel
def _begin_phase(arena: Ints, rates: Floats, stream: int) -> None:
    npu = arena[stream + f.STREAM_NPU]
    p = arena[stream + f.STREAM_PHASE]
    phase = arena[stream + f.STREAM_TABLE] + p * f.PHASE_WORDS
    peers = arena[phase + f.PHASE_PEERS]
    if peers == PEERS_CUSTOM:
        begin_custom(arena, rates, npu, stream, phase)
        return
    choice = arena[stream + f.STREAM_WORDS + p]
    walk = allocate(arena, f.WALK_WORDS)
    clear(arena, walk, f.WALK_WORDS)
    arena[walk + f.WALK_STREAM] = stream
    arena[walk + f.WALK_NPU] = npu
    touch(arena, walk + f.WALK_MARK)
    arena[walk + f.WALK_ID] = arena[npu + f.NPU_ID]
    arena[walk + f.WALK_TAG] = arena[stream + f.STREAM_TAG]
    arena[walk + f.WALK_PHASE] = phase
    arena[walk + f.WALK_BACKWARDS] = choice & f.CHOICE_BACKWARDS
    arena[walk + f.WALK_DELAY_NS] = arena[f.ENDPOINT_DELAY_NS]
    if arena[phase + f.PHASE_LOCAL] != 0:
        arena[walk + f.WALK_DELAY_NS] = -LIST_DELAY_NS
    arena[walk + f.WALK_INDEX] = position_of(arena, phase, arena[npu + f.NPU_ID])
    if peers == PEERS_TREE:
        begin_tree(arena, rates, walk, choice & f.CHOICE_MAX_TREE != 0)
    else:
        begin_steps(arena, rates, walk)


@kernel
def is_last_phase(arena: Ints, stream: int) -> bool:
    """True if the stream ends with its present phase."""
    last = arena[arena[stream + f.STREAM_PLAN] + f.PLAN_PHASES] - 1
    return arena[stream + f.STREAM_PHASE] == last


@kernel
def leave_queue(arena: Ints, rates: Floats, stream: int) -> None:
    """The stream ended: its queue starts the next one."""
    queue, npu = _queue_of(arena, stream), arena[stream + f.STREAM_NPU]
    phases = arena[arena[stream + f.STREAM_PLAN] + f.PLAN_PHASES]
    release(arena, stream, f.STREAM_WORDS + phases)
    arena[queue + f.QUEUE_RUNNING] -= 1
    _look_at(arena, rates, npu, queue)


@kernel
def next_phase(arena: Ints, rates: Floats, stream: int) -> None:
    """Enter the next phase's queue; then the old queue starts a stream, then the new one."""
    old = _queue_of(arena, stream)
    p = arena[stream + f.STREAM_PHASE]
    phase = arena[stream + f.STREAM_TABLE] + p * f.PHASE_WORDS
    size = arena[stream + f.STREAM_BYTES]
    arena[stream + f.STREAM_BYTES] = (
        size * arena[phase + f.PHASE_RESULT_TIMES] // arena[phase + f.PHASE_RESULT_OVER]
    )
    arena[stream + f.STREAM_PHASE] = p + 1
    new = _queue_of(arena, stream)
    _enter(arena, new, stream)
    arena[old + f.QUEUE_RUNNING] -= 1
    npu = arena[stream + f.STREAM_NPU]
    _look_at(arena, rates, npu, old)
    _look_at(arena, rates, npu, new)
