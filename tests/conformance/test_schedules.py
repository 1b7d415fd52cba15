"""Every pipeline schedule: all work once, in an order that ends, no more alive than it says."""

from itertools import product

import numpy as np
from every_case import with_every

from simcore.workload.schedules import SCHEDULES, PipelineSchedule, Units

STAGES, BATCHES = (1, 2, 3, 4, 8), (1, 2, 5, 8, 16, 24)


def cases() -> list[tuple[str, int, int, int]]:
    found = []
    for (name, kind), stages, batches in product(SCHEDULES.items(), STAGES, BATCHES):
        if kind.mirrors:  # in pairs of micro-batches, at least one per stage
            if stages % 2 == 0 and batches % 2 == 0 and batches >= 2 * stages:
                found.append((name, stages, batches, 2))
            continue
        for chunks in (1, 2, 3) if kind.interleaves else (1,):
            if chunks == 1 or (stages > 1 and batches % stages == 0):
                found.append((name, stages, batches, chunks))
    return found


each_case = with_every("name, stages, batches, chunks", cases())


def orders(name: str, stages: int, batches: int, chunks: int) -> list[Units]:
    schedule = SCHEDULES[name]()
    return [schedule.units(stage, stages, batches, chunks) for stage in range(stages)]


def passes(units: Units) -> list[tuple[bool, int, int]]:
    """Whether backward, chunk and micro-batch of each pass, in order; no units of weights alone."""
    rows = zip(
        units.backward.tolist(), units.chunk.tolist(), units.microbatch.tolist(), strict=True
    )
    alone = np.zeros(units.backward.size, np.bool_) if units.weights is None else units.weights
    return [row for row, weights in zip(rows, alone.tolist(), strict=True) if not weights]


@each_case
def test_every_micro_batch_passes_every_chunk_once_forward_and_then_backward(
    name: str, stages: int, batches: int, chunks: int
) -> None:
    ways = (False, True) if SCHEDULES[name].trains else (False,)
    for units in orders(name, stages, batches, chunks):
        done = passes(units)
        assert sorted(done) == sorted(product(ways, range(chunks), range(batches)))
        assert done[0] == (False, 0, 0)
        place = {what: at for at, what in enumerate(done)}
        for backward, chunk, batch in done:
            assert not backward or place[True, chunk, batch] > place[False, chunk, batch]


@each_case
def test_stages_never_wait_for_each_other_in_a_circle(
    name: str, stages: int, batches: int, chunks: int
) -> None:
    kind = SCHEDULES[name]
    left = [passes(units)[::-1] for units in orders(name, stages, batches, chunks)]
    ended: set[tuple[bool, int, int]] = set()  # backward, virtual stage, micro-batch
    virtual = stages * chunks

    def position(stage: int, chunk: int) -> int:
        mirrored = kind.mirrors and chunk == 1
        return virtual - 1 - stage if mirrored else chunk * stages + stage

    moved = True
    while moved:
        moved = False
        for stage, waiting in enumerate(left):
            while waiting:
                backward, chunk, batch = waiting[-1]
                at = position(stage, chunk)
                before = (True, at + 1, batch) if backward else (False, at - 1, batch)
                if backward and at == virtual - 1:
                    before = (False, at, batch)
                if not backward and at == 0:
                    before = (False, -1, batch)
                if before[1] >= 0 and before not in ended:
                    break
                ended.add((backward, at, batch))
                waiting.pop()
                moved = True
    assert not any(left)


@each_case
def test_no_stage_keeps_more_than_the_schedule_says(
    name: str, stages: int, batches: int, chunks: int
) -> None:
    schedule: PipelineSchedule = SCHEDULES[name]()
    if not schedule.trains:
        assert schedule.alive_units(0, stages, batches, chunks) == 0
        return
    for stage, units in enumerate(orders(name, stages, batches, chunks)):
        alive = most = 0
        done = passes(units)
        for at, (backward, _, _) in enumerate(done):
            alive += -1 if backward else 1
            pair = at + 1 < len(done) and units.beside is not None and schedule.overlaps
            most = max(most, alive + int(pair and backward))
        stated = schedule.alive_units(stage, stages, batches, chunks)
        assert most <= stated <= batches * chunks


@each_case
def test_the_steady_part_repeats_after_a_period(
    name: str, stages: int, batches: int, chunks: int
) -> None:
    schedule = SCHEDULES[name]()
    period = schedule.period(stages, chunks)
    if period is None or batches < 4 * stages or batches % period:
        return
    step = 2 * chunks * period
    for units in orders(name, stages, batches, chunks):
        backward = units.backward
        first = int(np.flatnonzero(backward)[0]) - 1
        last = int(np.flatnonzero(~backward)[-1]) + 1
        np.testing.assert_array_equal(backward[first : last - step], backward[first + step : last])
        batch = units.microbatch
        np.testing.assert_array_equal(
            batch[first : last - step] + period, batch[first + step : last]
        )
