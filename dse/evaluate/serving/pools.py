"""Services whose pools are known, and the cache of which is there at once: none is better.

What a pool does depends on its own knobs and on those of the machine, not on the other pool, so
that few pools make many services. Each is simulated once; how the cache travels is all that is
left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import simcore
from dse.space import Design, Parameter, Value
from simcore import InfeasibleError, Platform, Service

T = TypeVar("T")
Key = tuple[Value | int | None, ...]

_KEPT = 1 << 14
"""Pools, and machines, that are remembered; then they are forgotten, which costs time alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """The pool that answers, and how its measured time differs from the simulated one.

    Attributes:
        pool: As simulated.
        factor: Of the time of a token; 1 without a calibration.
    """

    pool: "simcore.Answering"
    factor: float


class KnownPools:
    """Pools and machines of the services of a study, each worked out once."""

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        service: Callable[[Design], Service],
        read: "Callable[[Service], simcore.Reading]",
        answer: Callable[[Service], Answered],
    ) -> None:
        """Begin.

        Args:
            parameters: The knobs of the study.
            service: Gives the service of a design.
            read: Simulates the pool of a service that reads; raises where it cannot.
            answer: Likewise of the pool that answers.
        """
        self._service, self._read, self._answer = service, read, answer
        pool = {name: _pool_of(knob) for name, knob in parameters.items()}
        self._of_machine = [name for name, own in pool.items() if not own]
        self._of_reading = [name for name, own in pool.items() if own == "prefill"]
        self._of_answering = [name for name, own in pool.items() if own == "decode"]
        self._machines: dict[Key, Platform] = {}
        self._reading: dict[Key, int] = {}  # NPUs of a pool
        self._answering: dict[Key, int] = {}
        self._readings: dict[Key, simcore.Reading | InfeasibleError] = {}
        self._answerings: dict[Key, Answered | InfeasibleError] = {}

    def machine_key(self, design: Design) -> Key:
        """Values of the knobs that the machine of *design* depends on."""
        return _values(design, self._of_machine)

    def machine(self, design: Design) -> Platform:
        """The machine of both pools."""
        key = self.machine_key(design)
        return _kept(self._machines, key, lambda: self._service(design).platform)

    def best(self, design: Design) -> "simcore.ServiceResult":
        """The service of *design* if its cache is there at once.

        Raises:
            InfeasibleError: A pool cannot be, or both together are not the machine.
        """
        machine = self.machine_key(design)
        read_key = machine + _values(design, self._of_reading)
        answer_key = machine + _values(design, self._of_answering)
        npus = _kept(self._reading, read_key, lambda: self._service(design).prefill.plan.npus)
        others = _kept(self._answering, answer_key, lambda: self._service(design).decode.plan.npus)
        simcore.check_pools_fill(npus, others, self.machine(design).npus)
        reading = able(_kept(self._readings, read_key, lambda: self._tried(self._read, design)))
        key = (*answer_key, npus)  # which NPUs of the machine are left to answer
        found = able(_kept(self._answerings, key, lambda: self._tried(self._answer, design)))
        return simcore.ServiceResult.of(reading, found.pool).answered(found.factor)

    def _tried(self, work: Callable[[Service], T], design: Design) -> T | InfeasibleError:
        try:
            return work(self._service(design))
        except InfeasibleError as error:
            return error.with_traceback(None)


def _pool_of(knob: Parameter) -> str:
    """The pool that alone depends on a knob; empty: both do, or the machine."""
    starts = {path.partition(".")[0] for path in knob.targets or (knob.name,)}
    start = starts.pop() if len(starts) == 1 else ""
    return start if start in ("prefill", "decode") else ""


def _values(design: Design, names: Iterable[str]) -> Key:
    return tuple(map(design.get, names))


def _kept(known: dict[Key, T], key: Key, work_out: Callable[[], T]) -> T:
    if key not in known:
        if len(known) >= _KEPT:
            known.clear()
        known[key] = work_out()
    return known[key]


def able(found: T | InfeasibleError) -> T:
    """Answer that was kept.

    Raises:
        InfeasibleError: It is one, which is raised again and again: each time without the frames of
            the time before.
    """
    if isinstance(found, InfeasibleError):
        raise found.with_traceback(None)
    return found
