"""Programs of NPUs of unlike speed: computing takes longer or less long than traces say."""

from dataclasses import replace

import numpy as np

from simcore.engines.events.programs import Programs
from simcore.errors import ConfigError
from simcore.formats.astra.traces.load import LoadedTraces
from simcore.formats.chakra.trace import Ints
from simcore.kernels.events.layout import LAST_NS, Floats
from simcore.terms import NodeKind

_AT = "--npu-scale"


def with_speeds(traces: LoadedTraces, told: str, where: Ints | None = None) -> LoadedTraces:
    """The programs of NPUs whose speeds are *told*: what they compute lasts as long over its speed.

    Args:
        traces: Of ranks.
        told: Speeds of NPUs.
        where: (N,) NPU of each rank; None: that of its number.

    Raises:
        ConfigError: The speeds break a rule, or a node lasts too long.
    """
    if not told:
        return traces
    from simcore.machine.speeds import read_speeds  # loads all that reads files of machines

    speeds = read_speeds(told, traces.program_of_npu.size, _AT)
    speeds = speeds if where is None else np.asarray(speeds)[where]
    distinct, which = np.unique(speeds, return_inverse=True)
    pairs = traces.program_of_npu * distinct.size + which
    kept, program_of_npu = np.unique(pairs, return_inverse=True)
    program, number = np.divmod(kept, distinct.size)
    own = list(zip(program.tolist(), distinct[number].tolist(), strict=True))
    totals = traces.totals
    return replace(
        traces,
        programs=_scaled(traces.programs, program, distinct[number]),
        program_of_npu=program_of_npu.astype(np.int64),
        totals=tuple(
            replace(totals[one], compute_ns=round(totals[one].compute_ns / speed))
            for one, speed in own
        ),
        nodes=tuple(traces.nodes[one] for one, _ in own) if traces.nodes else (),
    )


def _scaled(programs: Programs, program: Ints, speed: Floats) -> Programs:
    """Programs by number, each with a body of its own in which computing takes its time."""
    bodies = programs.bodies.take(programs.body_of[program])
    computes, lasts = bodies.kind == NodeKind.COMPUTE, bodies.duration_ns
    scaled = np.rint(lasts / np.repeat(speed, np.diff(bodies.first)))
    if scaled.max(initial=0) >= LAST_NS:
        rule = f"must leave every node below {LAST_NS} ns"
        raise ConfigError(_AT, rule, got=float(scaled.max()))
    return Programs(
        bodies=replace(bodies, duration_ns=np.where(computes, scaled, lasts).astype(np.int64)),
        body_of=np.arange(program.size),
        transfers=programs.transfers.take(program),
        names=[programs.names[one] for one in program.tolist()] if programs.names else (),
    )
