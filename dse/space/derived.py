"""Knobs whose values follow from others: columns that a block's combinations decide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.space.exact import column_of, is_defined
from dse.space.expressions import Expression, parse_expression
from dse.space.file import DerivedFile
from dse.space.parameters import Design, Parameter, Value, at_slot, slot_of
from dse.space.space import KnobBlock
from dse.space.tables import Codes
from simcore import FACTORS, ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A knob that nobody chooses.

    Attributes:
        name: Unique in the space; a path into the run unless *targets* says otherwise.
        value: What it is, of other knobs and values of the run.
        unit: Base unit of its numbers, or None.
        targets: Paths that take the value; empty: its name.
    """

    name: str
    value: Expression
    unit: str | None
    targets: tuple[str, ...]

    @property
    def slot(self) -> int | None:
        """Network dimension that it belongs to."""
        return slot_of(self.name)


def read_derived(
    file: Mapping[str, str | DerivedFile],
    slots: Sequence[int],
    terms: Mapping[str, Expression],
    taken: Iterable[str],
    *,
    at: str,
) -> tuple[Derived, ...]:
    """The derived knobs of a study file; each may use those before it.

    Raises:
        ConfigError: An expression that is none, a name that is taken, or an unknown unit.
    """
    known, found, names = dict(terms), dict[str, Derived](), set(taken)
    for item, given in file.items():
        place = f"{at}.{item}"
        one = DerivedFile.model_validate({"is": given}) if isinstance(given, str) else given
        if one.unit is not None and one.unit not in FACTORS:
            rule = f"must be a base unit: {', '.join(FACTORS)}"
            raise ConfigError(f"{place}.unit", rule, got=one.unit)
        if "[*]" in item and not slots:
            rule = "[*] needs platform.dimensions as a list in the run"
            raise ConfigError(place, rule, got=item)
        for slot in slots if "[*]" in item else (slot_of(item) or 0,):
            name = at_slot(item, slot)
            if name in names:
                raise ConfigError(place, "a knob may stand once in the space", got=name)
            value = parse_expression(at_slot(one.value, slot), at=place, terms=known)
            targets = tuple(at_slot(path, slot) for path in one.sets)
            found[name] = Derived(name=name, value=value, unit=one.unit, targets=targets)
            known[name] = value
            names.add(name)
    return tuple(found.values())


def with_derived(
    blocks: Sequence[KnobBlock],
    parameters: dict[str, Parameter],
    derived: Sequence[Derived],
    fixed: Mapping[str, Value],
    dimensions: Mapping[int, tuple[int, ...]],
) -> tuple[KnobBlock, ...]:
    """*blocks*, each with the derived knobs that its own decide, which *parameters* get too.

    Raises:
        ConfigError: A knob that no other decides, or that has no value in some designs.
    """
    result = list(blocks)
    for one in derived:
        knobs = [name for name in one.value.names if name in parameters]
        if not knobs:
            rule = "must name a knob (what nothing decides stands in the run)"
            raise ConfigError(f"space.derive.{one.name}", rule, got=one.value.text)
        at = next(at for at, block in enumerate(result) if knobs[0] in block.names)
        result[at], parameters[one.name] = _extended(result[at], parameters, one, fixed, dimensions)
    return tuple(result)


def _extended(
    block: KnobBlock,
    parameters: Mapping[str, Parameter],
    one: Derived,
    fixed: Mapping[str, Value],
    dimensions: Mapping[int, tuple[int, ...]],
) -> tuple[KnobBlock, Parameter]:
    columns = {
        count: _values(block, table, parameters, one, fixed, dimensions[count])
        for count, table in block.tables.items()
    }
    items = {value for _, values in columns.values() for value in values}
    try:
        choices = tuple(sorted(items))
    except TypeError:
        rule = "must be numbers, or words, in all designs"
        raise ConfigError(f"space.derive.{one.name}", rule, got=one.value.text) from None
    if not choices:
        rule = "must have a meaning in some design"
        raise ConfigError(f"space.derive.{one.name}", rule, got=one.value.text)
    code_of = {value: code for code, value in enumerate(choices)}
    tables = {}
    for count, table in block.tables.items():
        meant, values = columns[count]
        codes = np.full((table.shape[0], 1), -1, np.int32)
        codes[meant, 0] = [code_of[value] for value in values]
        tables[count] = np.ascontiguousarray(np.concatenate([table, codes], axis=1))
    parameter = Parameter(
        name=one.name,
        choices=choices,
        unit=one.unit,
        targets=one.targets,
        slot=one.slot,
        derived=True,
    )
    return replace(block, names=(*block.names, one.name), tables=tables), parameter


def _values(
    block: KnobBlock,
    table: Codes,
    parameters: Mapping[str, Parameter],
    one: Derived,
    fixed: Mapping[str, Value],
    kept: Sequence[int],
) -> tuple[np.ndarray, list[Value]]:
    """Rows of *table* in which *one* has a meaning, and its value in each of them."""
    places = {name: block.names.index(name) for name in one.value.names if name in block.names}
    meant = np.full(table.shape[0], one.slot is None or one.slot in kept)
    for place in places.values():
        meant &= table[:, place] >= 0
    columns = {name: parameters[name].column[table[meant, place]] for name, place in places.items()}
    columns |= {name: column_of(fixed[name]) for name in one.value.names if name not in places}
    found = one.value.values(columns, int(meant.sum()))
    if not np.broadcast_to(is_defined(found), found.shape).all():
        rule = "must have a value in every design (a division by zero has none)"
        raise ConfigError(f"space.derive.{one.name}", rule, got=one.value.text)
    return meant, found.tolist()


def completed(
    blocks: Sequence[KnobBlock], parameters: Mapping[str, Parameter], design: Design
) -> Design:
    """*design* with the derived knobs that it lacks, where the other knobs decide them."""
    result = dict(design)
    for block in blocks:
        lacking = [n for n in block.names if parameters[n].derived and n not in design]
        own = [name for name in block.names if name not in lacking]
        codes = [_code(parameters[name], design) for name in own]
        for table in block.tables.values() if lacking else ():
            places = [block.names.index(name) for name in own]
            rows = np.flatnonzero((table[:, places] == codes).all(axis=1))
            for name in lacking if rows.size else ():
                code = int(table[rows[0], block.names.index(name)])
                result |= {name: parameters[name].choices[code]} if code >= 0 else {}
    return result


def _code(parameter: Parameter, design: Design) -> int:
    """Position of the value of *design*; -1: it has none."""
    value, choices = design.get(parameter.name), parameter.choices
    return choices.index(value) if value in choices else -1
