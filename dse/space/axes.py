"""Reads one axis of the ``space`` part of a study file."""

from itertools import pairwise

from dse.space.file import AxisFile, FileValue
from dse.space.parameters import Parameter, Value
from simcore import FACTORS, ConfigError, parse_quantity


def read_axis(name: str, axis: AxisFile, *, at: str) -> Parameter:
    """The knob that *axis* describes.

    Raises:
        ConfigError: A value without unit among values with one, units of different kinds, or a
            range that is empty.
    """
    if axis.choices is not None:
        return Parameter(name=name, choices=axis.choices)
    if axis.ladder is not None:
        values, unit = _quantities(axis.ladder, at=f"{at}.ladder")
        if any(b <= a for a, b in pairwise(values)):
            raise ConfigError(f"{at}.ladder", "values must rise", got=list(axis.ladder))
        return Parameter(name=name, choices=values, unit=unit)
    ends = [end for end in (axis.low, axis.high) if end is not None]
    (low, high), unit = _quantities(ends, at=f"{at}.low")
    try:
        return Parameter(name=name, low=float(low), high=float(high), log=axis.log, unit=unit)
    except ConfigError as error:
        raise ConfigError(at, error.rule, got=error.got) from None


def _quantities(
    items: tuple[FileValue, ...] | list[FileValue], *, at: str
) -> tuple[tuple[int | float, ...], str | None]:
    """The numbers of *items* in one base unit, and that unit; None if all are bare numbers."""
    if all(isinstance(item, int | float) and not isinstance(item, bool) for item in items):
        return tuple(item for item in items if not isinstance(item, str)), None
    text = next((item for item in items if isinstance(item, str)), None)
    bases = [base for base in FACTORS if text is not None and _reads(text, base)]
    if not bases:
        raise ConfigError(at, "values must be numbers with a unit, such as 50 GB/s", got=text)
    values: list[float] = []
    for item in items:
        if not isinstance(item, str):
            raise ConfigError(at, f"every value must have a unit, as {text!r} has", got=item)
        try:
            values.append(parse_quantity(item, bases[0]))
        except ValueError as error:
            raise ConfigError(at, str(error), got=item) from None
    return tuple(values), bases[0]


def _reads(text: str, base: str) -> Value:
    try:
        parse_quantity(text, base)
    except ValueError:
        return False
    return True
