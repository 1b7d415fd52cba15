"""Compiles the ``space`` part of a study file into a ``Space``."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dse.space.algorithms import DimensionFacts, with_admitted
from dse.space.budgets import Budget, read_budgets
from dse.space.derived import read_derived, with_derived
from dse.space.expressions import Expression, parse_expression
from dse.space.file import AxisFile, FileValue, ProductFile, SpaceFile
from dse.space.parameters import Parameter, Value, at_slot, slot_of
from dse.space.space import Counts, KnobBlock, Space, count_designs
from dse.space.tables import Product, Rules, compile_block, components, divisors
from simcore import FACTORS, ConfigError, ParallelPlan, did_you_mean, parse_quantity

SHAPE = "platform.dimensions[*].npus"
"""The group that gives the network its shape; its NPUs per dimension are at least 2."""

_Dimensions = dict[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Values of the run that the space depends on.

    Attributes:
        dimensions: Length of the run's list of network dimensions; 0 if it has none.
        npus: NPUs of the run's platform, or None where unknown.
        fixed: Single values of the run by path, for rules.
        machine: What is known of each of the dimensions.
    """

    dimensions: int
    npus: int | None
    fixed: Mapping[str, Value]
    machine: tuple[DimensionFacts, ...] = ()


def build_space(file: SpaceFile, setting: RunFacts, *, at: str = "space") -> Space:
    """Compile a space.

    Args:
        file: As written.
        setting: What the run fixes.
        at: Place of the space in the study file, for messages.

    Raises:
        ConfigError: A rule or a knob that does not make sense; says where.
    """
    dimensions = _dimension_counts(file, setting, at)
    slots = sorted({slot for kept in dimensions.values() for slot in kept})
    groups = _products(file, setting, slots, at)
    parameters = _group_parameters(file, groups, slots, at)
    file = with_admitted(file, setting.machine, parameters, slots, at)
    parameters |= _axis_parameters(file, parameters, slots, at)
    terms = _terms(file, parameters, at)
    derived = read_derived(file.derive, slots, terms, parameters, at=f"{at}.derive")
    terms |= {one.name: one.value for one in derived}
    require = _expressions(file.require, slots, terms, f"{at}.require")
    narrow = _expressions(file.narrow, slots, terms, f"{at}.narrow")
    when = _conditions(file, slots, terms, at)
    taken = {*parameters, *(one.name for one in derived)}
    fixed = {name: value for name, value in setting.fixed.items() if name not in taken}
    _check_names([*terms.values(), *require, *narrow, *when.values()], parameters, fixed, at)
    ties = tuple(one.value.names for one in derived)
    rules = Rules(products=groups, require=tuple(require), when=when, fixed=fixed, ties=ties)
    blocks = _blocks(parameters, rules, dimensions)
    valid = count_designs(blocks, list(dimensions))
    if narrow:
        rules = replace(rules, require=(*require, *narrow))
        blocks = _blocks(parameters, rules, dimensions)
    counts = Counts(
        raw=_raw_count(parameters, dimensions),
        valid=valid,
        searched=count_designs(blocks, list(dimensions)),
        continuous=sum(p.is_continuous for p in parameters.values()),
    )
    blocks = with_derived(blocks, parameters, derived, fixed, dimensions)
    budgets = _budgets(file, parameters, dimensions, at)
    return Space(
        parameters=parameters,
        dimensions=dimensions,
        blocks=blocks,
        counts=counts,
        budgets=budgets,
    )


def _budgets(
    file: SpaceFile, parameters: Mapping[str, Parameter], dimensions: _Dimensions, at: str
) -> tuple[Budget, ...]:
    slots = sorted({slot for kept in dimensions.values() for slot in kept})
    budgets = read_budgets(file.budgets, slots, parameters, at=f"{at}.budgets")
    for index, budget in enumerate(budgets):
        for kept in dimensions.values():
            budget.check(_active(parameters, kept), at=f"{at}.budgets[{index}]")
    return budgets


def _dimension_counts(file: SpaceFile, setting: RunFacts, at: str) -> _Dimensions:
    """For each number of dimensions to try, the positions that stay."""
    length = setting.dimensions
    for index, product in enumerate(file.products):
        if product.dimensions is None:
            continue
        place = f"{at}.products[{index}].dimensions"
        if SHAPE not in product.of:
            raise ConfigError(place, f"needs {SHAPE} among the knobs of its group", got=product.of)
        if isinstance(product.dimensions, dict):
            table = product.dimensions
        else:
            table = {count: tuple(range(count)) for count in product.dimensions}
        for count, kept in table.items():
            fits = len(kept) == count == len(set(kept)) and count >= 1
            if not fits or not all(0 <= slot < length for slot in kept):
                rule = f"must keep positions of the run's {length} dimensions, as many as the key"
                raise ConfigError(place, rule, got={count: list(kept)})
        return {count: tuple(sorted(table[count])) for count in sorted(table)}
    return {length: tuple(range(length))}


def _expand(name: str, slots: Sequence[int], at: str) -> list[str]:
    if "[*]" not in name:
        return [name]
    if not slots:
        rule = "[*] needs platform.dimensions as a list in the run"
        raise ConfigError(at, rule, got=name)
    return [at_slot(name, slot) for slot in slots]


def _products(
    file: SpaceFile, setting: RunFacts, slots: Sequence[int], at: str
) -> tuple[Product, ...]:
    npus = next((p.equals for p in file.products if SHAPE in p.of and p.equals != "npus"), None)
    result = []
    for index, product in enumerate(file.products):
        place = f"{at}.products[{index}]"
        equals = product.equals
        if equals == "npus":
            equals = npus if npus is not None else (setting.npus or "npus")
        if not isinstance(equals, int):
            rule = "must be a number, or npus where the platform's number of NPUs is known"
            raise ConfigError(f"{place}.equals", rule, got=product.equals)
        names = [name for item in product.of for name in _expand(item, slots, f"{place}.of")]
        result.append(Product(names=tuple(names), equals=equals))
    return tuple(result)


def _group_parameters(
    file: SpaceFile, groups: Sequence[Product], slots: Sequence[int], at: str
) -> dict[str, Parameter]:
    result: dict[str, Parameter] = {}
    for index, (product, group) in enumerate(zip(file.products, groups, strict=True)):
        place = f"{at}.products[{index}]"
        limits = {
            name: values
            for item, values in product.limits.items()
            for name in _expand(item, slots, f"{place}.limits")
        }
        free = [n for n in group.names if n not in limits and product.values is None]
        for name in group.names:
            if name in result:
                raise ConfigError(f"{place}.of", "a knob may be in one product only", got=name)
            choices = _members(name, product, limits, group.equals, place)
            result[name] = Parameter(
                name=name, choices=choices, slot=slot_of(name), derived=name in free[-1:]
            )
    return result


def _members(
    name: str, product: ProductFile, limits: Mapping[str, tuple[int, ...]], equals: int, at: str
) -> tuple[int, ...]:
    choices = limits.get(name, product.values)
    if choices is None:
        return divisors(equals, least=2 if name.endswith(".npus") else 1)
    for value in choices:
        if value < 1:
            raise ConfigError(f"{at}.limits", f"values of {name} must be 1 or more", got=value)
    return choices


def _axis_parameters(
    file: SpaceFile, taken: Mapping[str, Parameter], slots: Sequence[int], at: str
) -> dict[str, Parameter]:
    result: dict[str, Parameter] = {}
    for item, axis in file.axes.items():
        place = f"{at}.axes.{item}"
        template = read_axis(item, axis, at=place)
        for name in _expand(item, slots, place):
            if name in taken or name in result:
                raise ConfigError(place, "a knob may stand once in the space", got=name)
            slot = slot_of(name)
            targets = tuple(at_slot(path, slot or 0) for path in axis.sets)
            result[name] = replace(template, name=name, slot=slot, targets=targets)
    return result


def _terms(file: SpaceFile, parameters: Mapping[str, Parameter], at: str) -> dict[str, Expression]:
    terms: dict[str, Expression] = {}
    for name, text in file.terms.items():
        place = f"{at}.terms.{name}"
        if name in parameters or not name.isidentifier():
            raise ConfigError(place, "must be a word that no knob has as its name", got=name)
        terms[name] = parse_expression(text, at=place, terms=terms)
    return terms


def _expressions(
    texts: Sequence[str], slots: Sequence[int], terms: Mapping[str, Expression], at: str
) -> list[Expression]:
    return [
        parse_expression(text, at=f"{at}[{index}]", terms=terms)
        for index, item in enumerate(texts)
        for text in _expand(item, slots, f"{at}[{index}]")
    ]


def _conditions(
    file: SpaceFile, slots: Sequence[int], terms: Mapping[str, Expression], at: str
) -> dict[str, Expression]:
    result = {}
    for item, axis in file.axes.items():
        if axis.when is None:
            continue
        place = f"{at}.axes.{item}.when"
        for name in _expand(item, slots, place):
            text = at_slot(axis.when, slot_of(name) or 0)
            result[name] = parse_expression(text, at=place, terms=terms)
            if name in result[name].names:
                raise ConfigError(place, "a condition may not name its own knob", got=text)
    return result


def _check_names(
    rules: Iterable[Expression],
    parameters: Mapping[str, Parameter],
    fixed: Mapping[str, Value],
    at: str,
) -> None:
    for rule in rules:
        for name in rule.names:
            if name in parameters and parameters[name].is_continuous:
                text = f"a rule may not name {name}, which has a range; give it a ladder"
                raise ConfigError(at, text, got=rule.text)
            if name not in parameters and name not in fixed:
                _refuse_misspelt(parameters)  # the knob may be wrong, and the rule right
                known = [*parameters, *fixed]
                text = f"a rule may name knobs and values of the run{did_you_mean(name, known)}"
                raise ConfigError(at, text, got=name)


def _refuse_misspelt(parameters: Mapping[str, Parameter]) -> None:
    """Refuse knobs of plans for keys that plans have not.

    Raises:
        ConfigError: There is such a knob.
    """
    keys = {f"plan.{field.alias or key}" for key, field in ParallelPlan.model_fields.items()}
    for name in parameters:
        stem = ".".join(name.split("[")[0].split(".")[:2])
        if stem.startswith("plan.") and stem not in keys:
            rule = f"must be a knob that plans have{did_you_mean(name, sorted(keys))}"
            raise ConfigError(f"space.axes.{name}", rule, got=name)


def _active(parameters: Mapping[str, Parameter], slots: Sequence[int]) -> frozenset[str]:
    return frozenset(n for n, p in parameters.items() if p.slot is None or p.slot in slots)


def _blocks(
    parameters: Mapping[str, Parameter], rules: Rules, dimensions: _Dimensions
) -> tuple[KnobBlock, ...]:
    discrete = [name for name, parameter in parameters.items() if not parameter.is_continuous]
    shape = {name for name in discrete if at_slot(SHAPE, slot_of(name) or 0) == name}
    result = []
    for names in components(discrete, rules):
        tables = {
            count: compile_block(names, parameters, rules, _active(parameters, slots))
            for count, slots in dimensions.items()
        }
        products = tuple((p.names, p.equals) for p in rules.products if p.names[0] in names)
        leads = len(dimensions) > 1 and bool(shape & set(names))
        result.append(KnobBlock(names=names, tables=tables, products=products, leads=leads))
    return tuple(result)


def _raw_count(parameters: Mapping[str, Parameter], dimensions: _Dimensions) -> int:
    total = 0
    for slots in dimensions.values():
        active = _active(parameters, slots)
        total += math.prod(
            len(p.choices) or 1
            for name, p in parameters.items()
            if name in active and not p.derived
        )
    return total


def read_axis(name: str, axis: AxisFile, *, at: str) -> Parameter:
    """The knob that *axis* describes.

    Raises:
        ConfigError: A value without unit among values with one, units of different kinds, or a
            range that is empty.
    """
    if isinstance(axis.choices, tuple):
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
