"""Budgets over ranges: continuous knobs whose values add up to a fixed sum, in every design.

What a sampler draws is moved by one amount, the same for all knobs of the budget, to the nearest
values that add up and lie in their ranges. One knob then takes exactly what the others leave.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from dse.space.file import BudgetFile
from dse.space.parameters import Parameter, at_slot
from simcore import ConfigError, parse_quantity

STEPS = 2**40
"""Places in a range that are told apart."""

_HALVINGS = 100

_ENOUGH = 0.37
"""Share of the largest room that will do for the knob that takes what is left: no share at which
knobs with equal or doubled ranges meet, so that the same one takes it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Continuous knobs whose values add up to *total*, those that a design has."""

    knobs: tuple[Parameter, ...]
    total: float

    def shared(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest values that add up, of those of *values* that belong to the budget.

        Values that add up stay what they are.
        """
        knobs = [knob for knob in self.knobs if knob.name in values]
        own = [values[knob.name] for knob in knobs]
        if fsum(own) == self.total or not knobs:
            return dict(zip((knob.name for knob in knobs), own, strict=True))
        near = len(knobs) * max(knob.high - knob.low for knob in knobs) * 4 / STEPS
        if abs(fsum(own) - self.total) > near:
            own = self._moved(knobs, own)
        own = [min(max(_rounded(k, v), k.low), k.high) for k, v in zip(knobs, own, strict=True)]
        room = [min(v - k.low, k.high - v) for k, v in zip(knobs, own, strict=True)]
        last = next(at for at, one in enumerate(room) if one >= _ENOUGH * max(room))
        own[last] = fsum([self.total, *(-one for at, one in enumerate(own) if at != last)])
        own[last] = min(max(own[last], knobs[last].low), knobs[last].high)
        return {knob.name: value for knob, value in zip(knobs, own, strict=True)}

    def check(self, active: frozenset[str], *, at: str) -> None:
        """See whether the knobs that are *active* can add up.

        Raises:
            ConfigError: They cannot; says what they can.
        """
        knobs = [knob for knob in self.knobs if knob.name in active]
        least, most = fsum(k.low for k in knobs), fsum(k.high for k in knobs)
        if not least <= self.total <= most:
            rule = f"must be between {least:g} and {most:g}, the sums of all low and all high"
            raise ConfigError(f"{at}.equals", rule, got=self.total)

    def _moved(self, knobs: Sequence[Parameter], own: Sequence[float]) -> list[float]:
        def at(by: float) -> list[float]:
            return [min(max(v + by, k.low), k.high) for k, v in zip(knobs, own, strict=True)]

        less, more = -max(k.high for k in knobs), max(k.high for k in knobs)
        for _ in range(_HALVINGS):
            middle = (less + more) / 2
            less, more = (middle, more) if fsum(at(middle)) < self.total else (less, middle)
        return at(more)


def read_budgets(
    file: Sequence[BudgetFile],
    slots: Sequence[int],
    parameters: Mapping[str, Parameter],
    *,
    at: str,
) -> tuple[Budget, ...]:
    """The budgets of a study file.

    Raises:
        ConfigError: A knob that has no range, belongs to two budgets or has another unit.
    """
    result, taken = list[Budget](), set[str]()
    for index, one in enumerate(file):
        place = f"{at}[{index}]"
        names = [name for item in one.of for name in _expanded(item, slots)]
        for name in names:
            knob = parameters.get(name)
            if knob is None or not knob.is_continuous:
                rule = "must name knobs with a range (others keep a rule: require: [a + b == 10])"
                raise ConfigError(f"{place}.of", rule, got=name)
            if name in taken:
                raise ConfigError(f"{place}.of", "a knob may be in one budget only", got=name)
            taken.add(name)
        knobs = tuple(parameters[name] for name in names)
        total = _total(one, {knob.unit for knob in knobs}, f"{place}.equals")
        result.append(Budget(knobs=knobs, total=total))
    return tuple(result)


def _expanded(name: str, slots: Sequence[int]) -> Iterator[str]:
    yield from (at_slot(name, slot) for slot in slots) if "[*]" in name else (name,)


def _total(one: BudgetFile, units: set[str | None], at: str) -> float:
    if len(units) != 1:
        raise ConfigError(at, "its knobs must have one unit", got=sorted(map(str, units)))
    unit = units.pop()
    if unit is None:
        if isinstance(one.equals, str):
            raise ConfigError(at, "must be a number, as its knobs are", got=one.equals)
        return float(one.equals)
    try:
        return parse_quantity(str(one.equals), unit)
    except ValueError as error:
        raise ConfigError(at, str(error), got=one.equals) from None


def _rounded(knob: Parameter, value: float) -> float:
    """The value at the place in the range of *knob* that is nearest to *value*."""
    return knob.value_at(round(knob.share_of(value) * STEPS) / STEPS)
