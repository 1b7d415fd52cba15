"""Programs of pipelines, put together of pieces and units where the stage kernels read them.

Many programs have the same pieces in another order, or the same order of other pieces; put together
each is some times as long as what it is put together of. So only its parts are kept, the nodes of
its pieces as numbers of half the length, and it is written when designs are to be run with it.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.collectives.records import Ints
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.pointers import pointer, shorts_at, words_at
from simcore.kernels.records import Record, Records, record_of
from simcore.kernels.stages import stage_layout as f


class OfPieces(NamedTuple):
    """Pieces of a program, and which of these each shape of stages runs: places and sizes.

    Attributes:
        head, head_size: Address of the nodes with what belongs to them, int32.
        small, small_size: Address of the other numbers, int64; all below lie among these.
        pieces, piece_count: Records of the pieces.
        numbers, width: By shape, the number of each of its pieces.
        asks: By shape, whether each of its pieces asks for the end of its forward pass.
        finales: By shape, units of the finale.
        shape_of: Shape of each stage.
        resumed, resumed_count: The last pieces: which one resumes, and from which unit on.
        members, member_stage, item, joint: Collectives between stages, ``joint`` of them: where the
            members of each begin, their stages, and the collective's number.
        is_phase, categories: Whether each category is of computing.
        operators: How many there are.
    """

    head: int
    head_size: int
    small: int
    small_size: int
    pieces: int
    piece_count: int
    numbers: int
    width: int
    asks: int
    finales: int
    shape_of: int
    resumed: int
    resumed_count: int
    members: int
    member_stage: int
    item: int
    joint: int
    is_phase: int
    categories: int
    operators: int


class OfUnits(NamedTuple):
    """Units of a program: addresses of the arrays of a ``UnitTable``, and its sizes."""

    units: int
    ages: int
    messages: int
    repeats: int
    stages: int
    unit_count: int
    message_count: int
    period_batches: int


PLACES = ("message_at", "members_at", "piece_at", "program_at", "size")
"""Addresses in the program; the units come after the nodes, the last is its length."""

PROGRAM = record_of(np.int64, *OfPieces._fields, *OfUnits._fields, *PLACES)
"""A program: its parts, and where it has them when it is put together."""

LATEST = 2**31 - 1
"""Stands for ``NEVER`` among the nodes."""


@njit(cache=True)
def write(programs: Records, fixed: Ints) -> bool:
    """Write the first of *programs*, see ``write_program``."""
    return write_program(programs[0], pointer(fixed), np.bool_(False))


@njit(cache=True)
def write_program(program: Record, fixed: Ints, has_head: bool) -> bool:
    """Write a program, all but the pieces with their times of messages, to *fixed*.

    Args:
        program: PROGRAM.
        fixed: Gets it.
        has_head: Its nodes are there already.

    Returns:
        Whether it can be looked up: no unit of the finale but the first asks for the end of its
        forward pass.
    """
    if not has_head:
        head = shorts_at(program["head"], program["head_size"])
        for place in range(program["head_size"]):
            fixed[place] = n.NEVER if head[place] == LATEST else np.int64(head[place])
    if not _write_units(program, fixed):
        return False
    words = program["message_count"] * f.MESSAGE_FIELDS
    messages = words_at(program["messages"], words)
    for place in range(words):
        fixed[program["message_at"] + place] = messages[place]
    small = words_at(program["small"], program["small_size"])
    members = program["members"]
    for number in range(program["joint"]):
        count = small[members + number + 1] - small[members + number]
        fixed[program["members_at"] + number] = count
    _write_stages(program, fixed)
    return True


@njit(cache=True)
def _write_units(program: Record, fixed: Ints) -> bool:
    """Write the units with the pieces that they run; False: it cannot be done."""
    small = words_at(program["small"], program["small_size"])
    count, width = program["unit_count"], program["width"]
    every = program["stages"] * count
    units, ages = (
        words_at(program["units"], every * f.UNIT_FIELDS),
        words_at(program["ages"], every),
    )
    for stage in range(program["stages"]):
        shape = small[program["shape_of"] + stage]
        finale = count - small[program["finales"] + shape]
        numbers, asks = program["numbers"] + shape * width, program["asks"] + shape * (width - 1)
        to = program["head_size"] + stage * count * f.UNIT_FIELDS
        for unit in range(count):
            at, record = (stage * count + unit) * f.UNIT_FIELDS, to + unit * f.UNIT_FIELDS
            which = units[at + f.WHICH]
            asked = small[asks + which] != 0
            if asked and unit > finale:
                return False
            fixed[record + f.WHICH] = small[numbers + which]
            fixed[record + f.FORWARD_AGE] = ages[stage * count + unit] if asked else 0
            fixed[record + f.SENDS] = units[at + f.SENDS]
            fixed[record + f.RECEIVED] = units[at + f.RECEIVED]
        whole = small[numbers + width - 1]
        fixed[to + finale * f.UNIT_FIELDS + f.WHICH] = whole
        first = program["piece_count"] - program["resumed_count"]
        for number in range(program["resumed_count"]):
            resumed = program["resumed"] + 2 * number
            if small[resumed] == whole:
                unit = finale + small[resumed + 1]
                fixed[to + unit * f.UNIT_FIELDS + f.WHICH] = first + number
    return True


@njit(cache=True)
def _write_stages(program: Record, fixed: Ints) -> None:
    """Write the programs of the stages but for PIECES: these lie where each run puts them."""
    small = words_at(program["small"], program["small_size"])
    repeats = words_at(program["repeats"], 2 * program["stages"])
    count = program["unit_count"]
    for stage in range(program["stages"]):
        record = program["program_at"] + stage * f.PROGRAM_FIELDS
        shape = small[program["shape_of"] + stage]
        fixed[record + f.UNITS] = program["head_size"] + stage * count * f.UNIT_FIELDS
        fixed[record + f.FINALE_UNIT] = count - small[program["finales"] + shape]
        fixed[record + f.REPEATS_FROM] = repeats[2 * stage]
        fixed[record + f.REPEATS_TO] = repeats[2 * stage + 1]
