"""Collectives as streams: cut into chunks, phase after phase, through the queues of the NPU."""

from simcore.kernels.collectives.phase_row import LIST_DELAY_NS, PEERS_CUSTOM, PEERS_TREE
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.custom import begin_custom
from simcore.kernels.events.double_tree import begin_tree
from simcore.kernels.events.fold.ties import touch
from simcore.kernels.events.layout import (
    ACTIVE_LIMIT,
    CHOICE_BACKWARDS,
    CHOICE_MAX_TREE,
    CHUNKS,
    COLLECTIVE_NODE,
    COLLECTIVE_STREAMS_LEFT,
    COLLECTIVE_WORDS,
    DETAIL_BYTES,
    DETAIL_GROUP_COUNT,
    DETAIL_PLAN,
    DETAIL_PRIORITY,
    DIMENSIONS,
    DO_QUEUE,
    EMPTY_GATHERS_WAIT,
    ENDPOINT_DELAY_NS,
    GATHERED,
    NOTHING,
    NPU_GROUP_COUNTS,
    NPU_ID,
    NPU_PRIORITY,
    NPU_WORDS,
    PASS_FIRST,
    PASS_FIXED,
    PASS_LAST,
    PASS_PLAIN,
    PHASE_DIMENSION,
    PHASE_LOCAL,
    PHASE_PASS,
    PHASE_PEERS,
    PHASE_RESULT_OVER,
    PHASE_RESULT_TIMES,
    PHASE_TREE,
    PHASE_WORDS,
    PLAN_CUSTOM,
    PLAN_GATHERS,
    PLAN_GROUP,
    PLAN_ORDER_COUNT,
    PLAN_ORDERS,
    PLAN_PHASES,
    PLAN_SMALLEST_CHUNK,
    QUEUE_HEAD,
    QUEUE_MARK,
    QUEUE_RUNNING,
    QUEUE_TAIL,
    QUEUE_WORDS,
    QUEUES,
    ROUND_WORDS,
    SCHEDULING,
    STREAM_BYTES,
    STREAM_COLLECTIVE,
    STREAM_NEXT,
    STREAM_NPU,
    STREAM_PHASE,
    STREAM_PLAN,
    STREAM_PRIORITY,
    STREAM_TABLE,
    STREAM_TAG,
    STREAM_WORDS,
    TAGS_PER_GROUP,
    WALK_BACKWARDS,
    WALK_DELAY_NS,
    WALK_ID,
    WALK_INDEX,
    WALK_MARK,
    WALK_NPU,
    WALK_PHASE,
    WALK_STREAM,
    WALK_TAG,
    WALK_WORDS,
    Floats,
    Ints,
)
from simcore.kernels.events.members import position_of
from simcore.kernels.events.stepwise import begin_steps
from simcore.kernels.events.structures.arena import allocate, clear, release
from simcore.kernels.events.structures.event_queue import do_later

LIFO, FIFO, EXPLICIT = 0, 1, 2
_CHOICE_QUEUE = CHOICE_BACKWARDS - 1


@kernel
def issue_collective(arena: Ints, rates: Floats, npu: int, detail: int, position: int) -> None:
    """Cut the buffer of a collective node into streams and let them enter their queues."""
    plan = arena[detail + DETAIL_PLAN]
    size, smallest = arena[detail + DETAIL_BYTES], arena[plan + PLAN_SMALLEST_CHUNK]
    chunk = size // arena[CHUNKS]
    if arena[plan + PLAN_GATHERS] != 0:
        chunk = max(chunk, 1)
        if arena[EMPTY_GATHERS_WAIT] == 0:
            size = max(size, 1)
    elif chunk < smallest:
        chunk, size = smallest, smallest * arena[CHUNKS]
    streams = (size + chunk - 1) // chunk
    if arena[plan + PLAN_CUSTOM] != 0:
        streams = 1
    priority = arena[detail + DETAIL_PRIORITY]
    if arena[SCHEDULING] != EXPLICIT:
        priority = arena[npu + NPU_PRIORITY]
        arena[npu + NPU_PRIORITY] += 1 if arena[SCHEDULING] == LIFO else -1
    collective = allocate(arena, COLLECTIVE_WORDS)
    arena[collective + COLLECTIVE_NODE] = position
    arena[collective + COLLECTIVE_STREAMS_LEFT] = streams
    counter = arena[npu + NPU_GROUP_COUNTS] + arena[detail + DETAIL_GROUP_COUNT]
    for chunk_number in range(streams):
        stream = _new_stream(arena, npu, plan, chunk_number)
        arena[stream + STREAM_COLLECTIVE] = collective
        group = arena[plan + PLAN_GROUP]
        arena[stream + STREAM_TAG] = (group + 1) * TAGS_PER_GROUP + arena[counter]
        arena[counter] += 1
        arena[stream + STREAM_BYTES] = chunk
        arena[stream + STREAM_PRIORITY] = priority
        queue = _queue_of(arena, stream)
        _enter(arena, queue, stream)
        _look_at(arena, rates, npu, queue)


@kernel
def _new_stream(arena: Ints, npu: int, plan: int, chunk_number: int) -> int:
    """A stream whose queues, directions and trees are chosen for all of its phases."""
    phases = arena[plan + PLAN_PHASES]
    stream = allocate(arena, STREAM_WORDS + phases)
    arena[stream + STREAM_NPU] = npu
    arena[stream + STREAM_PLAN] = plan
    arena[stream + STREAM_PHASE] = 0
    table = arena[arena[plan + PLAN_ORDERS] + chunk_number % arena[plan + PLAN_ORDER_COUNT]]
    arena[stream + STREAM_TABLE] = table
    for p in range(phases):
        phase = table + p * PHASE_WORDS
        choice = _choose_queue(arena, npu, phase)
        if arena[phase + PHASE_PEERS] == PEERS_TREE:
            counter = _trees(arena, npu) + arena[phase + PHASE_TREE]
            if arena[counter] == 0:
                choice |= CHOICE_MAX_TREE
            arena[counter] ^= 1
        arena[stream + STREAM_WORDS + p] = choice
    return stream


@kernel
def _choose_queue(arena: Ints, npu: int, phase: int) -> int:
    """Queue and direction, round robin: separately for plain, first and last passes."""
    queues, way = arena[QUEUES], arena[phase + PHASE_PASS]
    base = arena[phase + PHASE_DIMENSION] * queues
    if way == PASS_FIXED:
        return base
    counter = _rounds(arena, npu) + arena[phase + PHASE_DIMENSION] * ROUND_WORDS + way
    chosen = arena[counter]
    first, end = 0, queues
    if way == PASS_FIRST:
        end = max(queues // 2, 1)
    elif way == PASS_LAST:
        first = queues // 2
    arena[counter] = (chosen + 1) % (end - first)
    backwards = way == PASS_LAST
    if way == PASS_PLAIN and queues > 1:
        backwards = chosen >= queues // 2
    return base + first + chosen + (CHOICE_BACKWARDS if backwards else 0)


@kernel
def _rounds(arena: Ints, npu: int) -> int:
    return npu + NPU_WORDS + arena[DIMENSIONS] * arena[QUEUES] * QUEUE_WORDS


@kernel
def _trees(arena: Ints, npu: int) -> int:
    return _rounds(arena, npu) + arena[DIMENSIONS] * ROUND_WORDS


@kernel
def _queue_of(arena: Ints, stream: int) -> int:
    """The queue in which the stream's present phase runs."""
    choice = arena[stream + STREAM_WORDS + arena[stream + STREAM_PHASE]]
    return arena[stream + STREAM_NPU] + NPU_WORDS + (choice & _CHOICE_QUEUE) * QUEUE_WORDS


@kernel
def _enter(arena: Ints, queue: int, stream: int) -> None:
    """Wait behind all streams of the same or a higher priority."""
    touch(arena, queue + QUEUE_MARK)
    head, tail = arena[queue + QUEUE_HEAD], arena[queue + QUEUE_TAIL]
    if head == 0 or _goes_before(arena, stream, head):
        arena[stream + STREAM_NEXT] = head
        arena[queue + QUEUE_HEAD] = stream
        if head == 0:
            arena[queue + QUEUE_TAIL] = stream
        return
    before = head
    if not _goes_before(arena, stream, tail):
        before = tail
    after = arena[before + STREAM_NEXT]
    while before != tail and not _goes_before(arena, stream, after):
        before = after
        after = arena[before + STREAM_NEXT]
    arena[stream + STREAM_NEXT] = 0 if before == tail else after
    arena[before + STREAM_NEXT] = stream
    if before == tail:
        arena[queue + QUEUE_TAIL] = stream


@kernel
def _look_at(arena: Ints, rates: Floats, npu: int, queue: int) -> None:
    """Start streams at once, or when all that come at this time are there."""
    touch(arena, queue + QUEUE_MARK)
    if arena[GATHERED] == 0:
        start_waiting(arena, rates, queue)
    elif arena[queue + QUEUE_RUNNING] < arena[ACTIVE_LIMIT] and arena[queue + QUEUE_HEAD] != 0:
        do_later(arena, npu, NOTHING, DO_QUEUE, queue, NOTHING)


@kernel
def _goes_before(arena: Ints, one: int, other: int) -> bool:
    """Whether a stream that comes later overtakes *other*, which waits."""
    a, b = arena[one + STREAM_PRIORITY], arena[other + STREAM_PRIORITY]
    if arena[GATHERED] != 0 and a == b:
        return arena[one + STREAM_TAG] < arena[other + STREAM_TAG]
    return a > b


@kernel
def start_waiting(arena: Ints, rates: Floats, queue: int) -> None:
    """Start streams that wait in *queue* while it may run more."""
    touch(arena, queue + QUEUE_MARK)
    while arena[queue + QUEUE_RUNNING] < arena[ACTIVE_LIMIT] and arena[queue + QUEUE_HEAD] != 0:
        stream = arena[queue + QUEUE_HEAD]
        arena[queue + QUEUE_HEAD] = arena[stream + STREAM_NEXT]
        arena[queue + QUEUE_RUNNING] += 1
        _begin_phase(arena, rates, stream)


@kernel
def _begin_phase(arena: Ints, rates: Floats, stream: int) -> None:
    npu = arena[stream + STREAM_NPU]
    p = arena[stream + STREAM_PHASE]
    phase = arena[stream + STREAM_TABLE] + p * PHASE_WORDS
    peers = arena[phase + PHASE_PEERS]
    if peers == PEERS_CUSTOM:
        begin_custom(arena, rates, npu, stream, phase)
        return
    choice = arena[stream + STREAM_WORDS + p]
    walk = allocate(arena, WALK_WORDS)
    clear(arena, walk, WALK_WORDS)
    arena[walk + WALK_STREAM] = stream
    arena[walk + WALK_NPU] = npu
    touch(arena, walk + WALK_MARK)
    arena[walk + WALK_ID] = arena[npu + NPU_ID]
    arena[walk + WALK_TAG] = arena[stream + STREAM_TAG]
    arena[walk + WALK_PHASE] = phase
    arena[walk + WALK_BACKWARDS] = choice & CHOICE_BACKWARDS
    arena[walk + WALK_DELAY_NS] = arena[ENDPOINT_DELAY_NS]
    if arena[phase + PHASE_LOCAL] != 0:
        arena[walk + WALK_DELAY_NS] = -LIST_DELAY_NS
    arena[walk + WALK_INDEX] = position_of(arena, phase, arena[npu + NPU_ID])
    if peers == PEERS_TREE:
        begin_tree(arena, rates, walk, choice & CHOICE_MAX_TREE != 0)
    else:
        begin_steps(arena, rates, walk)


@kernel
def is_last_phase(arena: Ints, stream: int) -> bool:
    """Whether the stream ends with its present phase."""
    last = arena[arena[stream + STREAM_PLAN] + PLAN_PHASES] - 1
    return arena[stream + STREAM_PHASE] == last


@kernel
def leave_queue(arena: Ints, rates: Floats, stream: int) -> None:
    """The stream ended: its queue starts the next one."""
    queue, npu = _queue_of(arena, stream), arena[stream + STREAM_NPU]
    phases = arena[arena[stream + STREAM_PLAN] + PLAN_PHASES]
    release(arena, stream, STREAM_WORDS + phases)
    arena[queue + QUEUE_RUNNING] -= 1
    _look_at(arena, rates, npu, queue)


@kernel
def next_phase(arena: Ints, rates: Floats, stream: int) -> None:
    """Enter the next phase's queue; then the old queue starts a stream, then the new one."""
    old = _queue_of(arena, stream)
    p = arena[stream + STREAM_PHASE]
    phase = arena[stream + STREAM_TABLE] + p * PHASE_WORDS
    size = arena[stream + STREAM_BYTES]
    arena[stream + STREAM_BYTES] = (
        size * arena[phase + PHASE_RESULT_TIMES] // arena[phase + PHASE_RESULT_OVER]
    )
    arena[stream + STREAM_PHASE] = p + 1
    new = _queue_of(arena, stream)
    _enter(arena, new, stream)
    arena[old + QUEUE_RUNNING] -= 1
    npu = arena[stream + STREAM_NPU]
    _look_at(arena, rates, npu, old)
    _look_at(arena, rates, npu, new)
