"""Metrics of a study for Prometheus, recorded through the Ray cluster that it runs on."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

COUNTERS = {
    "dse_proposals": "Rows of the study, known designs that were proposed again included",
    "dse_trials": "Designs of the study with an outcome, by state",
    "dse_evaluation_seconds": "Time that evaluations have taken, all workers added up, s",
    "dse_events": "Nodes that came and went, workers that died, and waiting for cores, by kind",
}
GAUGES = {
    "dse_workers": "Workers of the study: ready, and waiting for cores",
    "dse_best": "Best value of each objective so far, in its unit",
}
TAGS = ("study", "level", "state", "kind", "objective")


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric's value, all of the study added up where it is a counter.

    Attributes:
        name: One of ``COUNTERS`` or ``GAUGES``.
        value: Its value.
        tags: What it is the value of, beside the study.
    """

    name: str
    value: float
    tags: Mapping[str, str]


Source = Callable[[], Iterable[Reading]]


class Meter:
    """Records nothing: for studies that are on no cluster."""

    def read(self, source: Source) -> None:
        """Ask *source* for its values whenever metrics are recorded."""

    def event(self, kind: str) -> None:
        """Count something that happened."""

    def record(self, *, ready: int = 0, waiting: int = 0) -> None:
        """Record all values; numbers of workers that are ready, and that wait for cores."""


class RayMeter(Meter):
    """Records through Ray, whose nodes show to Prometheus what their processes record.

    Values are asked for when they are recorded, about every two seconds, and only what has changed
    is. A study never fails for its metrics: where Ray cannot record them, there are none.
    """

    def __init__(self, study: str) -> None:
        """*study*: its name."""
        self._study = study
        self._sources: list[Source] = []
        self._events: dict[str, int] = {}
        self._recorded: dict[tuple[str, ...], float] = {}
        self._metrics: dict[str, Any] = {}

    def read(self, source: Source) -> None:
        self._sources.append(source)

    def event(self, kind: str) -> None:
        self._events[kind] = self._events.get(kind, 0) + 1

    def record(self, *, ready: int = 0, waiting: int = 0) -> None:
        with suppress(Exception):  # whatever goes wrong in Ray, the study goes on
            for reading in self._readings(ready, waiting):
                self._record(reading)

    def _readings(self, ready: int, waiting: int) -> Iterable[Reading]:
        for source in self._sources:
            yield from source()
        for kind, count in self._events.items():
            yield Reading("dse_events", count, {"kind": kind})
        yield Reading("dse_workers", ready, {"state": "ready"})
        yield Reading("dse_workers", waiting, {"state": "waiting"})

    def _record(self, reading: Reading) -> None:
        tags = {"study": self._study, **reading.tags}
        key = (reading.name, *(tags.get(name, "") for name in TAGS))
        metric = self._metric(reading.name, tuple(tags))
        if reading.name in GAUGES:
            metric.set(reading.value, tags=tags)  # each time: Ray forgets what is not set anew
            return
        more = reading.value - self._recorded.get(key, 0.0)
        if more > 0:
            metric.inc(more, tags=tags)
            self._recorded[key] = reading.value

    def _metric(self, name: str, tag_names: tuple[str, ...]) -> Any:
        if name not in self._metrics:
            from ray.util.metrics import Counter, Gauge

            kind, told = (Gauge, GAUGES) if name in GAUGES else (Counter, COUNTERS)
            self._metrics[name] = kind(name, description=told[name], tag_keys=tag_names)
        return self._metrics[name]
