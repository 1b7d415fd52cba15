"""Chunks that meet no dimension twice end when following each of them says."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.kernels.collectives.chunk_pipeline import pipeline_time
from simcore.kernels.collectives.records import PHASE, TIME, Records
from simcore.kernels.collectives.time import through_phases

DIMENSIONS = 5
TIMES = st.one_of(st.integers(0, 3), st.integers(0, 1 << 40))
PHASES = st.lists(
    st.tuples(st.integers(0, DIMENSIONS - 1), TIMES, TIMES, TIMES),
    min_size=1,
    max_size=DIMENSIONS,
    unique_by=lambda phase: phase[0],
)


def _tables(phases: list[tuple[int, int, int, int]]) -> tuple[Records, Records]:
    rows, times = np.zeros(len(phases), PHASE), np.zeros(len(phases), TIME)
    for at, (dimension, one, other, last_step) in enumerate(phases):
        rows[at]["dimension"] = dimension
        times[at]["slowest_ns"], times[at]["fastest_ns"] = max(one, other), min(one, other)
        times[at]["last_step_ns"] = last_step
    return rows, times


@settings(derandomize=True, deadline=None, max_examples=300)
@given(PHASES, st.integers(1, 40), st.integers(1, 5))
def test_chunks_that_meet_no_dimension_twice_end_when_following_each_says(
    phases: list[tuple[int, int, int, int]], chunks: int, active: int
) -> None:
    rows, times = _tables(phases)
    over, last_step = rows["dimension"].copy(), times["last_step_ns"].copy()

    def followed(member: str) -> tuple[int, int, bool]:
        taken = times[member].copy()
        return pipeline_time(chunks, over, taken, last_step, DIMENSIONS, active)

    duration, held, last_ns, tied = through_phases(rows, chunks, active, DIMENSIONS, times)
    assert (duration, last_ns, tied) == followed("slowest_ns")
    apart = bool((times["fastest_ns"] < times["slowest_ns"]).any())
    assert held == (max(duration - followed("fastest_ns")[0], 1) if apart else 0)
