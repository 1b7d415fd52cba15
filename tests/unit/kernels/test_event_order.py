import heapq
import random

import numpy as np
import pytest

from simcore.kernels.events import layout
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.arena import allocate, new_event, release
from simcore.kernels.events.structures.event_queue import (
    do_later,
    double_heap,
    next_event,
    schedule,
)
from simcore.kernels.events.structures.keyed_fifo import (
    append,
    double_fifo_table,
    drop_fifo,
    find_fifo,
    new_fifo,
    pop,
)

NPUS = 4


@pytest.fixture
def arena() -> Ints:
    words = np.zeros(400_000, np.int64)
    at = layout.FIRST_RECORD
    words[layout.NPU_TABLE], words[layout.NPU_STRIDE] = at, layout.NPU_WORDS
    for npu in range(NPUS):
        words[at + layout.NPU_ID] = npu
        at += layout.NPU_WORDS
    words[layout.FIFOS], words[layout.FIFO_CAPACITY] = at, 8
    words[layout.HEAP], words[layout.HEAP_CAPACITY] = at + 8, 4096
    words[layout.NEXT_WORD] = at + 8 + 2 * 4096
    words[layout.HORIZON_NS] = 1 << 60
    return words


def npu_at(arena: Ints, npu: int) -> int:
    return int(arena[layout.NPU_TABLE] + npu * arena[layout.NPU_STRIDE])


def drain(arena: Ints) -> list[tuple[int, int]]:
    order = []
    while event := next_event(arena):
        order.append((int(arena[layout.NOW_NS]), int(arena[event + layout.EVENT_A])))
    return order


def test_events_come_by_time_and_then_in_the_order_of_scheduling(arena: Ints) -> None:
    rng = random.Random(1)
    expected: list[tuple[int, int]] = []
    for number in range(3000):
        time_ns = rng.randrange(500)
        schedule(arena, time_ns, new_event(arena, layout.DO_NOTHING, number, 0))
        heapq.heappush(expected, (time_ns, number))
    assert drain(arena) == [heapq.heappop(expected) for _ in range(3000)]


def test_the_table_of_an_npu_runs_whole_at_the_place_of_its_first_entry(arena: Ints) -> None:
    first, second = npu_at(arena, 1), npu_at(arena, 2)
    do_later(arena, first, 5, layout.DO_NOTHING, 10, 0)
    do_later(arena, second, 5, layout.DO_NOTHING, 20, 0)
    schedule(arena, 5, new_event(arena, layout.DO_NOTHING, 30, 0))
    do_later(arena, first, 5, layout.DO_NOTHING, 11, 0)
    assert [number for _, number in drain(arena)] == [10, 11, 20, 30]


def test_an_entry_added_without_delay_joins_the_running_table(arena: Ints) -> None:
    npu = npu_at(arena, 0)
    do_later(arena, npu, 7, layout.DO_NOTHING, 1, 0)
    schedule(arena, 7, new_event(arena, layout.DO_NOTHING, 2, 0))
    assert arena[next_event(arena) + layout.EVENT_A] == 1
    do_later(arena, npu, 0, layout.DO_NOTHING, 3, 0)
    assert drain(arena) == [(7, 3), (7, 2)]
    do_later(arena, npu, 1, layout.DO_NOTHING, 4, 0)
    assert drain(arena) == [(8, 4)]


def test_events_beyond_the_horizon_wait(arena: Ints) -> None:
    schedule(arena, 3, new_event(arena, layout.DO_NOTHING, 1, 0))
    schedule(arena, 9, new_event(arena, layout.DO_NOTHING, 2, 0))
    arena[layout.HORIZON_NS] = 8
    assert drain(arena) == [(3, 1)]
    arena[layout.HORIZON_NS] = 9
    assert drain(arena) == [(9, 2)]


def test_the_heap_keeps_its_order_when_it_grows(arena: Ints) -> None:
    for time_ns in (5, 3, 9):
        schedule(arena, time_ns, new_event(arena, layout.DO_NOTHING, time_ns, 0))
    double_heap(arena)
    assert arena[layout.HEAP_CAPACITY] == 8192
    assert [number for _, number in drain(arena)] == [3, 5, 9]


def test_fifos_are_found_again_after_their_table_has_grown(arena: Ints) -> None:
    made = {(key, owner): new_fifo(arena, key, owner) for key in range(20) for owner in (-1, 3)}
    double_fifo_table(arena)
    assert arena[layout.FIFO_CAPACITY] == 16
    assert all(find_fifo(arena, *pair) == fifo for pair, fifo in made.items())
    drop_fifo(arena, made.pop((7, 3)))
    assert find_fifo(arena, 7, 3) == 0
    assert all(find_fifo(arena, *pair) == fifo for pair, fifo in made.items())
    assert arena[layout.FIFO_COUNT] == len(made)


def test_a_fifo_gives_back_in_order_and_then_nothing(arena: Ints) -> None:
    fifo = new_fifo(arena, 1, 1)
    events = [new_event(arena, layout.DO_NOTHING, i, 0) for i in range(3)]
    for event in events:
        append(arena, fifo, event)
    assert [pop(arena, fifo) for _ in range(4)] == [*events, 0]


def test_words_given_back_are_used_again_for_records_of_their_size(arena: Ints) -> None:
    small, large = allocate(arena, 4), allocate(arena, 9)
    release(arena, small, 4)
    assert allocate(arena, 9) not in (small, large)
    assert allocate(arena, 4) == small
