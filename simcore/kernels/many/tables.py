"""Tables that the kernels of many designs read: what plans ask for, what machines are."""

from typing import NamedTuple

import numpy as np

from simcore.kernels.collectives.records import Floats, Ints, Records
from simcore.kernels.records import record_of

PLAN = record_of(np.int64, "first", "count", "stages", "stride", "first_run", "first_stage")
"""A plan: its first collective and how many, pipeline stages and the distance of neighbours in NPU
ids, where its counts of collectives begin (stage by stage), and its messages (to the next stage of
each stage, then to the one before)."""

COLLECTIVE = record_of(np.int64, "kind", "axis", "size_bytes", "shared")
"""A collective of a plan: kind and axis by number, size, and whether members are at several stages,
which is timed elsewhere."""

SYSTEM = record_of(np.int64, "chunks", "active", "delay_ns", "aware")
"""A system layer as far as one collective asks: chunks, chunks at once in a dimension, delay of a
message in ns, and whether all-reduces are split over the dimensions."""


class PlanTables(NamedTuple):
    """Plans, one after the other.

    Attributes:
        plans: (P,) PLAN.
        collectives: (C,) COLLECTIVE.
        runs: Runs of each collective on each stage.
        message_bytes: Size of each message.
        sent_bytes: Bytes of all messages of a kind together.
    """

    plans: Records
    collectives: Records
    runs: Ints
    message_bytes: Ints
    sent_bytes: Floats


class PhaseTable(NamedTuple):
    """Phases, by what they depend on.

    Attributes:
        pass_first: (kinds, 2, masks + 1) int64, where the passes of a chunk begin, by kind, whether
            the system is aware, and the dimensions that a group uses, as bits.
        passes: (P, 2) int64, dimension and kind of each pass.
        phase_of: (kinds, A, E, S) int64, place in *phases* by what is done, algorithm, members and
            stride, and shape; -1: nobody has asked for it.
        phases: (P,) PHASE.
        words: Of their step tables.
    """

    pass_first: Ints
    passes: Ints
    phase_of: Ints
    phases: Records
    words: Ints


class MachineRows(NamedTuple):
    """Machines of N designs with D dimensions.

    Attributes:
        plan, system: (N,) int64, rows of their tables.
        systems: (S,) SYSTEM.
        links: (N, D) LINK.
        shares_ports: (N, D) bool, the dimension is a further level of the one before.
        shape: (N, D) int64, number of topology and NPUs.
        algorithm: (N, kinds, D) int64, numbers of algorithms.
        place: (N, axes) int64, where the groups of an axis lie.
        spots: (P, D) int64, of each place members and stride by number, -1: none.
        members: (P,) int64, of each place.
        memory_bytes_per_s: (N,) float64.
    """

    plan: Ints
    system: Ints
    systems: Records
    links: Records
    shares_ports: Records
    shape: Ints
    algorithm: Ints
    place: Ints
    spots: Ints
    members: Ints
    memory_bytes_per_s: Floats


class RowTimes(NamedTuple):
    """Times and traffic of N designs with D dimensions.

    Attributes:
        first: (N,) int64, where the collectives of each design begin.
        duration_ns, last_ns: Of each collective, and how long before its end the event that ends
            it was scheduled.
        first_message: (N,) int64, where its messages begin.
        message_ns: Times, to the next stage of each stage, then to the one before.
        held_ns: (N,) int64, how long members may have waited for the last one of a phase.
        sent_bytes, link_bytes: (N, D) float64, as in ``WorkTotals``.
        instant: (N,) int64, 1 where a collective takes no time.
        state: (N,) int64, TIMED or the reason why not.
    """

    first: Ints
    duration_ns: Ints
    last_ns: Ints
    first_message: Ints
    message_ns: Ints
    held_ns: Ints
    sent_bytes: Floats
    link_bytes: Floats
    instant: Ints
    state: Ints


TIMED, ORDER_DECIDES, INEXACT = 0, 1, 2
"""States of a design: all known; a collective hangs on the order of events among all members; sums
of bytes depend on their order."""
