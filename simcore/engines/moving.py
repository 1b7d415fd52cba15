"""Communication as the engines of an accelerator carry it out, and what computes lose to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcore.collectives import SYNTHESISED
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.events.input import Ints
from simcore.errors import InfeasibleError
from simcore.kernels.classes.layout import WHOLE
from simcore.machine import Npu, Platform
from simcore.machine.movers import MOST_TAKEN, Mover
from simcore.machine.system import System
from simcore.terms import CollectiveKind
from simcore.units import plain_sum
from simcore.workload.graph import CollectiveOp

LOST = "lost"
"""Category of the time that computes lose to communication."""

REDUCING = (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.REDUCE)
"""Collectives in which NPUs add up."""

_TRIED = 0.5
"""Part of the memory bandwidth without which it is tried how far an operator needs it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taking:
    """Parts in 1 / ``WHOLE`` of an NPU that communication takes: O operators, C collectives.

    Attributes:
        operators: (O, 2) int64, what of its rate an operator loses with all cores that are ever
            taken, and with all of the memory bandwidth.
        collectives: (C, 2) int64, of these cores, and of the memory bandwidth, what each takes.
        send_cores: Of these cores, what a message takes.
        send_memory: Of the memory bandwidth, what a message of one byte per ns takes.
    """

    operators: Ints
    collectives: Ints
    send_cores: int
    send_memory: float

    def of_sends(self, size_bytes: Ints, duration_ns: Ints) -> Ints:
        """(N, 2) int64: what messages take."""
        rate = self.send_memory * size_bytes / np.maximum(duration_ns, 1)
        memory = np.minimum(rate, MOST_TAKEN * WHOLE).astype(np.int64)
        return np.stack([np.full_like(memory, self.send_cores), memory], axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Moving:
    """Engines that carry out communication on one machine.

    Attributes:
        platform: The machine.
        mover: What moves; None: links and computes do not touch each other.
        reducer: What carries out collectives that add up; None: no engine can.
        named: Names of both.
    """

    platform: Platform
    mover: Mover | None = None
    reducer: Mover | None = None
    named: tuple[str, str] = "", ""

    @classmethod
    def of(cls, platform: Platform, system: System) -> "Moving":
        """Engines that *system* names.

        Raises:
            InfeasibleError: The accelerator has no such engine, or not as many cores, or a schedule
                is made for links alone.
        """
        if not system.mover:
            return cls(platform=platform)
        npu, reducer_name = platform.npu, system.reducer or system.mover
        mover, reducer = npu.mover(system.mover), npu.mover(reducer_name)
        if system.mover_cores is not None:
            links = npu.scale_up.bandwidth_bytes_per_s
            mover, reducer = _with_cores(mover, reducer, system.mover_cores, links)
        found = cls(
            platform=platform,
            mover=mover,
            reducer=reducer if reducer.reduces else None,
            named=(system.mover, reducer_name),
        )
        found._check_schedules(system)
        return found

    def _check_schedules(self, system: System) -> None:
        """Refuse schedules that are synthesised for links, where engines are slower than these."""
        names = {
            name
            for key in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
            for name in getattr(system, key) or ()
        }
        slower = self.moving.dimensions != self.platform.dimensions
        if SYNTHESISED in names and (slower or self.reducing.dimensions != self.moving.dimensions):
            reason = f"a synthesised schedule is made for links, which {self.named[0]} cannot fill"
            raise InfeasibleError("mover_fills_links", f"{reason}: name another algorithm")

    @cached_property
    def moving(self) -> Platform:
        """The machine as collectives that add up nothing, and messages, find it."""
        return self.platform if self.mover is None else _slowed(self.platform, self.mover)

    @cached_property
    def reducing(self) -> Platform:
        """The machine as collectives that add up find it."""
        return self.moving if self.reducer is None else _slowed(self.platform, self.reducer)

    @property
    def slowest(self) -> Platform:
        """The machine with the slower links of both, and the slower memory."""
        pairs = zip(self.moving.dimensions, self.reducing.dimensions, strict=True)
        slow = [min(pair, key=lambda one: one.usable_bandwidth_bytes_per_s) for pair in pairs]
        npus = self.moving.npu, self.reducing.npu
        npu = min(npus, key=lambda one: one.memory_bandwidth_bytes_per_s)
        return self.platform.model_copy(update={"dimensions": tuple(slow), "npu": npu})

    @property
    def fills_links(self) -> bool:
        """True if the engines are no slower than links and memory."""
        own, rate = self.platform, self.platform.npu.memory_bandwidth_bytes_per_s
        return all(
            one.dimensions == own.dimensions and one.npu.memory_bandwidth_bytes_per_s == rate
            for one in (self.moving, self.reducing)
        )

    def on(self, kind: CollectiveKind) -> Platform:
        """The machine as collectives of *kind* find it."""
        return self.reducing if self.adds_up(kind) else self.moving

    def adds_up(self, kind: CollectiveKind) -> bool:
        """True of collectives in which NPUs add up."""
        return kind in REDUCING

    def check(self, collectives: Sequence[CollectiveOp]) -> None:
        """Refuse collectives that no engine can carry out.

        Raises:
            InfeasibleError: One adds up, and the engine that is to carry it out cannot.
        """
        if self.mover is None or self.reducer is not None:
            return
        for one in collectives:
            if one.kind in REDUCING:
                others = [name for name, own in self.platform.npu.movers.items() if own.reduces]
                hint = f"name system.reducer, one of {', '.join(others)}" if others else "none can"
                what = one.kind.name.lower().replace("_", "-")
                reason = (
                    f"{self.named[1]} add up nothing, as the {what} over {one.axis} must: {hint}"
                )
                raise InfeasibleError("mover_reduces", reason)

    def taking(
        self,
        operators: Callable[[Npu], Ints],
        collectives: Sequence[CollectiveOp],
        times: Sequence[CollectiveTime | None],
    ) -> Taking | None:
        """Parts of an NPU that communication takes; None: no engine is named.

        Args:
            operators: Gives the time of each operator, (O,) int64 ns, on an accelerator.
            collectives: Of the program.
            times: Of each; None where its members are at several stages, which is rare: of these
                only the cores count.
        """
        if self.mover is None:
            return None
        npu, reducer = self.platform.npu, self.reducer or self.mover
        most = max(self.mover.takes_cores, reducer.takes_cores)
        memory = 1e9 / npu.memory_bandwidth_bytes_per_s
        engines = [reducer if one.kind in REDUCING else self.mover for one in collectives]
        cores = [_part(engine.takes_cores / most if most else 0.0) for engine in engines]
        of_memory = [
            _memory_part(one, time, engine, memory)
            for one, time, engine in zip(collectives, times, engines, strict=True)
        ]
        return Taking(
            operators=_losses(operators, npu, most),
            collectives=np.array([cores, of_memory], np.int64).reshape(2, -1).T,
            send_cores=_part(self.mover.takes_cores / most if most else 0.0),
            send_memory=WHOLE * self.mover.memory_passes(reducing=False) * memory,
        )


def _with_cores(
    mover: Mover, reducer: Mover, taken: int, links_bytes_per_s: float
) -> tuple[Mover, Mover]:
    """Engines with *taken* cores, of those that take some.

    Raises:
        InfeasibleError: None does, or there are not as many.
    """
    if mover.takes_cores or not reducer.takes_cores:
        mover = mover.with_cores(taken, links_bytes_per_s)
    if reducer.takes_cores:
        reducer = reducer.with_cores(taken, links_bytes_per_s)
    return mover, reducer


def _slowed(platform: Platform, mover: Mover) -> Platform:
    """*platform* with links, and a memory to add up in, that are no faster than *mover*."""
    most, npu = mover.moves_bytes_per_s, platform.npu
    dimensions = [
        one.model_copy(
            update={"bandwidth_bytes_per_s": most * one.oversubscription / one.efficiency}
        )
        if one.usable_bandwidth_bytes_per_s > most
        else one
        for one in platform.dimensions
    ]
    rate = min(npu.memory_bandwidth_bytes_per_s, mover.reduces_bytes_per_s or np.inf)
    own = npu.model_copy(update={"memory_bandwidth_bytes_per_s": rate})
    return platform.model_copy(update={"dimensions": tuple(dimensions), "npu": own})


def _losses(operators: Callable[[Npu], Ints], npu: Npu, cores: float) -> Ints:
    """(O, 2) int64: parts of its rate that an operator loses with *cores*, and with all memory."""
    own = operators(npu)
    with_less = [
        (operators(npu.with_less(cores=cores)) if cores else own, 1.0),
        (operators(npu.with_less(memory=_TRIED)), 1.0 / _TRIED),
    ]
    own = np.maximum(own, 1)
    lost = [WHOLE * by * (1.0 - own / np.maximum(less, own)) for less, by in with_less]
    return np.minimum(np.stack(lost, axis=1), WHOLE).astype(np.int64)


def _memory_part(
    one: CollectiveOp, time: CollectiveTime | None, engine: Mover, memory_ns_per_byte: float
) -> int:
    """Part of the memory bandwidth that a collective takes on the mean, in 1 / ``WHOLE``."""
    if time is None or not time.duration_ns:
        return 0
    passed = engine.memory_passes(reducing=one.kind in REDUCING) * plain_sum(time.sent_bytes)
    return _part(min(MOST_TAKEN, passed * memory_ns_per_byte / time.duration_ns))


def _part(share: float) -> int:
    return int(WHOLE * share)
