"""Two runs side by side: values that differ, and where the difference of their times lies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simcore.config import Run
from simcore.engines.attribution import Attribution, Reason
from simcore.serving import Service, attribute_service
from simcore.simulation import attribute_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, or two services, side by side.

    Attributes:
        values: Paths of the values that differ, with both; None: it is not there.
        times: Their times, of the same thing, by what they went to.
    """

    values: Mapping[str, tuple[object, object]]
    times: tuple[Attribution, Attribution]

    @property
    def difference_ns(self) -> int:
        """Time of the second over that of the first, ns."""
        return self.times[1].time_ns - self.times[0].time_ns

    def by_reason_ns(self) -> dict[Reason, tuple[int, int]]:
        """Times of both for each reason, the largest difference first.

        Differences sum to ``difference_ns``.
        """
        one, two = (time.parts_ns for time in self.times)
        both = {reason: (one.get(reason, 0), two.get(reason, 0)) for reason in (*one, *two)}
        ordered = sorted(both.items(), key=lambda item: (-abs(item[1][1] - item[1][0]), item[0]))
        return dict(ordered)


def compare(one: Run | Service, two: Run | Service) -> Comparison:
    """Compare two runs by one iteration, or two services by one request.

    Raises:
        TypeError: One is a run and the other a service.
        ConfigError, InfeasibleError: One cannot be simulated.
    """
    if isinstance(one, Run) and isinstance(two, Run):
        times = attribute_run(one), attribute_run(two)
    elif isinstance(one, Service) and isinstance(two, Service):
        times = attribute_service(one)[0], attribute_service(two)[0]
    else:
        raise TypeError("a run cannot be compared with a service")
    return Comparison(values=_differing(_flat(one), _flat(two)), times=times)


def _flat(given: Run | Service) -> dict[str, object]:
    return dict(_leaves(given.model_dump(mode="json"), ""))


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Single values below *value*, by path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{at}]")
    else:
        yield path, value


def _differing(
    one: Mapping[str, object], two: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    paths = dict.fromkeys((*one, *two))
    pairs = {path: (one.get(path), two.get(path)) for path in paths}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}
