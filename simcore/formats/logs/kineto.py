"""Steps of a trace of PyTorch's profiler (Kineto), annotated by ``profiler.step()``.

Source: PyTorch, torch/profiler/profiler.py: ``ProfilerStep#`` annotations; times in microseconds.
"""

from math import isfinite

from simcore.errors import ConfigError
from simcore.formats.logs.base import Observed, settled

_STEP = "ProfilerStep#"
TOOL = "PyTorch profiler"


def observed(data: dict[str, object], at: str) -> Observed:
    """The time of one step of the host, which waits for its accelerator in the long run.

    Raises:
        ConfigError: The trace has no annotated steps, or one takes no time.
    """
    events = data.get("traceEvents")
    if not isinstance(events, list):
        raise ConfigError(
            f"{at}: traceEvents", "must be a list of events", got=type(events).__name__
        )
    steps: list[tuple[float, float]] = []
    for number, event in enumerate(events):
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        name, category = str(event.get("name", "")), str(event.get("cat", ""))
        if name.startswith(_STEP) and not category.startswith("gpu"):
            place = f"{at}: traceEvents[{number}]"
            steps.append((_us(event, "ts", place), _us(event, "dur", place)))
    durations_s = [duration_us * 1e-6 for _, duration_us in sorted(steps)]
    what = f"events named '{_STEP}', which profiler.step() writes"
    return Observed(tool=TOOL, steps=len(steps), step_s=settled(durations_s, at, what))


def _us(event: dict[str, object], key: str, at: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ConfigError(f"{at}.{key}", "must be a time in microseconds", got=value)
    return float(value)
