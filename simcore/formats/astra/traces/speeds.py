"""Speeds of single NPUs: what they compute takes longer or less long than their traces say."""

import re
from dataclasses import replace

import numpy as np

from simcore.engines.events.programs import Programs
from simcore.errors import ConfigError
from simcore.formats.astra.traces.load import LoadedTraces
from simcore.formats.chakra.trace import Ints
from simcore.kernels.events.layout import LAST_NS
from simcore.terms import NodeKind

OPTION = "npu-scale"
_ONE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?:(\d+\.?\d*(?:[eE][-+]?\d+)?)")
_LEAST, _MOST = 1e-6, 1e6

Speeds = tuple[tuple[int, int, float], ...]
"""First NPU, last NPU, and their speed."""


def read_speeds(text: str) -> Speeds:
    """Speeds as an option tells them: ``3:0.8,8-15:0.5``, NPUs or ranges, and speed.

    Raises:
        ConfigError: The text is of another form, a range is empty, or a speed out of range.
    """
    found = []
    for part in text.split(",") if text else ():
        told = _ONE.fullmatch(part.strip())
        if told is None:
            rule = "must list NPUs with their speeds, such as 3:0.8,8-15:0.5"
            raise ConfigError(f"--{OPTION}", rule, got=part)
        first, speed = int(told[1]), float(told[3])
        last = first if told[2] is None else int(told[2])
        if last < first:
            raise ConfigError(f"--{OPTION}", "a range must not end before it begins", got=part)
        if not _LEAST <= speed <= _MOST:
            rule = f"speeds must be from {_LEAST:g} to {_MOST:g}"
            raise ConfigError(f"--{OPTION}", rule, got=part)
        found.append((first, last, speed))
    return tuple(found)


def with_speeds(traces: LoadedTraces, speeds: Speeds) -> LoadedTraces:
    """The programs of NPUs of unlike speed: what they compute lasts as long over its speed.

    Raises:
        ConfigError: There is no such NPU, or a node lasts too long.
    """
    if not speeds:
        return traces
    npus = traces.program_of_npu.size
    speed_of = np.ones(npus)
    for first, last, speed in speeds:
        if last >= npus:
            raise ConfigError(f"--{OPTION}", f"must name NPUs, 0 to {npus - 1}", got=last)
        speed_of[first : last + 1] = speed
    distinct, which = np.unique(speed_of, return_inverse=True)
    pairs = traces.program_of_npu * distinct.size + which
    kept, program_of_npu = np.unique(pairs, return_inverse=True)
    program, speed_number = np.divmod(kept, distinct.size)
    programs = _scaled(traces.programs, program, distinct[speed_number])
    return replace(
        traces,
        programs=programs,
        program_of_npu=program_of_npu.astype(np.int64),
        totals=tuple(
            replace(traces.totals[one], compute_ns=round(traces.totals[one].compute_ns / speed))
            for one, speed in zip(program.tolist(), distinct[speed_number].tolist(), strict=True)
        ),
        nodes=tuple(traces.nodes[one] for one in program.tolist()) if traces.nodes else (),
    )


def _scaled(programs: Programs, program: Ints, speed: np.ndarray) -> Programs:
    """Programs by number, each with a body of its own in which computing takes its time."""
    bodies = programs.bodies.take(programs.body_of[program])
    speed_of = np.repeat(speed, np.diff(bodies.first))
    lasts = np.where(
        bodies.kind == NodeKind.COMPUTE, np.rint(bodies.duration_ns / speed_of), bodies.duration_ns
    )
    if lasts.max(initial=0) >= LAST_NS:
        rule = f"must leave every node below {LAST_NS} ns"
        raise ConfigError(f"--{OPTION}", rule, got=float(lasts.max()))
    return Programs(
        bodies=replace(bodies, duration_ns=lasts.astype(np.int64)),
        body_of=np.arange(program.size),
        transfers=programs.transfers.take(program),
        names=[programs.names[one] for one in program.tolist()] if programs.names else (),
    )
