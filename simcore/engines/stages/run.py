"""Executes a program unit by unit: one NPU per stage, each situation worked out once."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from simcore.engines.collectives.ends import SharedEnds
from simcore.engines.events.input import Ints
from simcore.engines.stages.code import PipelineCode
from simcore.engines.stages.piece_code import PHASES
from simcore.engines.stages.workspace import Workspace
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.layout import as_record
from simcore.kernels.stages import pipeline_calls
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.order.history import (
    DECISION_FIELDS,
    HISTORY_WORDS,
    MOST_DECISIONS,
    TRACE_WORDS,
)
from simcore.kernels.stages.passing.passages import PASSAGES, passage_words
from simcore.kernels.stages.pipeline_period import SNAPSHOTS
from simcore.kernels.stages.pipeline_run import FINISHED
from simcore.machine.system import ExecutionProfile

Fields = dict[str, Any]

_BLOCKS = 16
_ENTRIES = 2048
_STATES, _POOL, _BUFFER = 2**13, 2**20, 10 * _ENTRIES
_MANY_MESSAGES, _LARGER = 2**14, 4
"""A program of so many messages may lead to more states, and gets room for so many times more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times:
    """Times of a machine, in ns: of O operators, C collectives and of messages.

    Attributes:
        item_ns: (O + C + 1,) int64, operators, collectives (0 where members are at several
            stages), then 0.
        lead_ns: (O + C + 1,) int64, how long before its end the event that ends it is scheduled;
            -1: at its start.
        next_ns, previous_ns: (S,) int64, a message to the next stage and to the one before.
    """

    item_ns: Ints
    lead_ns: Ints
    next_ns: Ints
    previous_ns: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineRun:
    """Result of a run: S stages, C categories.

    Attributes:
        finished: It came to its end. Else two events came at once and nothing here says which of
            them is first, or more units were under way than there is room for; only one
            queue of the events of all stages tells what happens. The period holds all the same.
        finish_ns: (S,) int64, end of each stage's last node.
        booked_ns: (S, C + 1) int64, time by category up to the last end; idle time comes last.
        period_ns, periods: One period of the steady state, and how many periods of the schedule
            it has; 0: none was seen.
        period_booked_ns: (S, C + 1) int64, time by category in it.
        leapt: Periods of the schedule that the run leapt over once it was in the steady state.
        situations: Transitions that were worked out node by node.
        followed: Transitions taken.
    """

    finished: bool
    finish_ns: Ints
    booked_ns: Ints
    period_ns: int
    periods: int
    period_booked_ns: Ints
    leapt: int
    situations: int
    followed: int


def run_pipeline(
    code: PipelineCode,
    times: Times,
    profile: ExecutionProfile,
    shared_ends: SharedEnds,
    workspace: Workspace,
    *,
    is_noted: bool = False,
) -> PipelineRun | None:
    """Run *code* on a machine, or None where a node takes no time, which is not foreseen here.

    With *is_noted* transitions are taken and noted one by one from the start, else only where the
    order of two events has to be told; what comes out is the same.
    """
    if not _takes_time(code, times):
        return None
    layout, at = _layouts(code, times, profile)
    fixed, live = code.fixed, workspace.words(layout.pool_end)
    _write_times(code, times, layout, live)
    pipeline_calls.start(fixed, live, at, is_noted)
    while (number := pipeline_calls.run(fixed, live, at)) >= 0:
        collective = code.shared[number]
        first = layout.started + number * (layout.stages + 1) + 1
        starts = live[first : first + layout.stages][list(collective.stages)]
        ends = shared_ends.ends(collective.item, collective.stages, starts)
        pipeline_calls.resolve(fixed, live, at, number, ends, shared_ends.lead_ns)
    return _result(live, layout, finished=number == FINISHED)


def _takes_time(code: PipelineCode, times: Times) -> bool:
    """True if no compute node and no message ends in the moment in which it starts."""
    if code.stages > 1 and min(times.next_ns.min(), times.previous_ns.min()) <= 0:
        return False
    return bool((times.item_ns[: code.operators] > 0).all())


def _write_times(code: PipelineCode, times: Times, layout: f.Layout, live: Ints) -> None:
    """Put the times of a machine in the place of those of the last one; a copy would take long."""
    first = layout.times + n.DURATION
    of_items = live[first : first + code.items * f.TIMES_FIELDS].reshape(-1, f.TIMES_FIELDS)
    of_items[:, 0], of_items[:, 1] = times.item_ns, times.lead_ns
    fixed, size = code.fixed, code.pieces.size
    programs = fixed[code.program :].reshape(-1, f.PROGRAM_FIELDS)
    known: dict[tuple[int, int], int] = {}
    keys = zip(times.next_ns.tolist(), times.previous_ns.tolist(), strict=True)
    for stage, key in enumerate(keys):
        at = known.get(key)
        if at is None:
            at = known[key] = code.piece + len(known) * size
            pieces = fixed[at : at + size].reshape(-1, f.PIECE_FIELDS)
            pieces[:] = code.pieces
            pieces[:, f.NEXT_NS :] = key
        programs[stage, f.PIECES] = at


def _layouts(
    code: PipelineCode, times: Times, profile: ExecutionProfile
) -> tuple[f.Layout, f.Layout]:
    """``layout_of`` the run of *code* with *times*."""
    joint = times.item_ns[code.operators : -1]
    instant = bool(joint.size - np.count_nonzero(joint) > len(code.shared))
    return layout_of(code, profile, instant=instant)


def layout_of(
    code: PipelineCode, profile: ExecutionProfile, *, instant: bool
) -> tuple[f.Layout, f.Layout]:
    """Layout of ``live``, also as the kernels read it.

    Args:
        code: What is run.
        profile: Concurrency of an NPU.
        instant: Some collective takes no time.
    """
    key = (profile.compute_slots, profile.communication_streams, instant)
    found = code.layouts.get(key)
    if found is None:
        layout = _layout(code, profile, instant=instant)
        found = code.layouts[key] = layout, as_record(layout)
    return found


def _layout(code: PipelineCode, profile: ExecutionProfile, *, instant: bool) -> f.Layout:
    """Layout of ``live``."""
    sizes = CodeSizes(
        stages=code.stages,
        categories=len(code.categories),
        phases=sum([name in PHASES for name in code.categories]),
        collectives=len(code.shared),
        messages=code.messages,
        items=code.items,
        sections=code.sections,
        ports=code.ports,
        shift=code.shift,
        nodes=int(code.fixed[code.program + f.UNITS]),
        program=code.program,
        message=code.message,
        members=code.members,
        period=code.period,
    )
    streams = profile.compute_slots, profile.communication_streams
    return f.Layout(**layout_fields(sizes, *streams, int(instant)))


class CodeSizes(NamedTuple):
    """Sizes and addresses of a program, or arrays of those of many.

    Attributes:
        stages, categories, phases, collectives, messages, items, sections, ports: How many; phases
            are the categories of computing.
        shift: Bits of a position within a piece.
        nodes: Length of the nodes and all that belongs to them.
        program, message, members, period: As in ``PipelineCode``.
    """

    stages: Any
    categories: Any
    phases: Any
    collectives: Any
    messages: Any
    items: Any
    sections: Any
    ports: Any
    shift: Any
    nodes: Any
    program: Any
    message: Any
    members: Any
    period: Any


def layout_fields(code: CodeSizes, compute_slots: Any, streams: Any, instant: Any) -> Fields:
    """Layout of ``live``: its fields by name, numbers or arrays as the arguments are."""
    npu = _within_npu(code, compute_slots, streams)
    sizes = _sizes(code, npu["npu_size"])
    *starts, end = accumulate(sizes.values(), initial=f.COUNTERS)
    address = dict(zip(sizes, starts, strict=True))
    return dict(
        stages=code.stages,
        categories=code.categories,
        phases=code.phases,
        collectives=code.collectives,
        instant=instant,
        shift=code.shift,
        blocks=_BLOCKS,
        program=code.program,
        message=code.message,
        members=code.members,
        section=code.nodes - code.sections,
        sections=code.sections,
        period=code.period,
        scratch=address["npu"] + code.stages * npu["npu_size"],
        times=address.pop("times") - n.DURATION,
        messages=code.messages,
        table_size=sizes["state_table"],
        states=sizes["edge_table"] // 2,
        edges=sizes["edge_table"] // 2,
        passages=sizes["passage_table"],
        passage_size=passage_words(code.categories),
        buffer_size=_BUFFER,
        snapshot_size=sizes["snapshot"] // (SNAPSHOTS + 1),
        pool_end=end,
        **npu,
        **address,
    )


def _sizes(code: CodeSizes, npu_size: Any) -> Fields:
    """Words of each part of ``live``, in order."""
    stages, accounts = code.stages, code.stages * (code.categories + 1)
    times = 1 + (_LARGER - 1) * (code.messages >= _MANY_MESSAGES)
    return {
        "npu": (stages + 3) * npu_size,
        "times": code.items * f.TIMES_FIELDS,
        "course": code.sections * (f.COURSE_FIELDS + code.categories),
        "due": stages,
        "stage": stages * f.STAGE_FIELDS,
        "account": accounts,
        "steady": accounts,
        "arrival": code.messages * f.ARRIVAL_FIELDS,
        "started": code.collectives * (stages + 1),
        "state": times * _STATES * f.STATE_FIELDS,
        "state_table": times * 2 * _STATES,
        "edge": times * _STATES * f.EDGE_FIELDS,
        "edge_table": times * 2 * _STATES,
        "passage": times * PASSAGES * passage_words(code.categories),
        "passage_table": times * PASSAGES,
        "buffer": _BUFFER,
        "snapshot": (SNAPSHOTS + 1) * (2 + accounts + 80 * stages),
        "history": HISTORY_WORDS,
        "traced": TRACE_WORDS,
        "decision": MOST_DECISIONS * DECISION_FIELDS,
        "decision_of": code.messages,
        "shadow": stages * npu_size,
        "pool": times * _POOL,
    }


def _within_npu(code: CodeSizes, compute_slots: Any, streams: Any) -> Fields:
    """Layout of an NPU."""
    slots = compute_slots + streams + code.ports
    lanes, nodes = 2 + code.ports, _BLOCKS << code.shift
    booked = f.SLOT + slots * f.SLOT_FIELDS
    log = booked + code.categories + 1
    block = log + (_BLOCKS + slots) * f.LOG_FIELDS
    ready = block + 2 * _BLOCKS
    return {
        "slot": f.SLOT,
        "slot_fields": f.SLOT_FIELDS,
        "compute_slots": compute_slots,
        "slots": slots,
        "lanes": lanes,
        "booked": booked,
        "log": log,
        "block": block,
        "ready": ready,
        "room": nodes,
        "node": ready + lanes * nodes,
        "npu_size": ready + (lanes + 1) * nodes,
    }


def _result(live: Ints, at: f.Layout, *, finished: bool) -> PipelineRun:
    stages, columns = at.stages, at.categories + 1
    account = live[at.account : at.account + stages * columns].reshape(stages, columns)
    npus = live[at.npu : at.npu + stages * at.npu_size].reshape(stages, at.npu_size)
    finish = npus[:, n.BOOKED_UNTIL].copy()
    booked = account + npus[:, at.booked : at.booked + columns]
    booked[:, -1] += finish.max() - finish
    steady = live[at.steady : at.steady + stages * columns].reshape(stages, columns)
    return PipelineRun(
        finished=finished,
        finish_ns=finish,
        booked_ns=booked,
        period_ns=int(live[f.PERIOD_NS]),
        periods=int(live[f.PERIODS]),
        period_booked_ns=steady.copy(),
        leapt=int(live[f.LEAPT]),
        situations=int(live[f.EDGES]),
        followed=int(live[f.FOLLOWED]),
    )
