"""Knobs over the collective algorithms that the dimensions of a machine admit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.space.file import ADMITTED, AxisFile, SpaceFile
from dse.space.parameters import Parameter, Value, at_slot
from simcore import ConfigError, admitted_algorithms

_KNOB = re.compile(r"system\.(\w+?)(?:\[(\*|\d+)\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionFacts:
    """A dimension of the run's machine.

    Attributes:
        topology: Its topology; "": not told.
        npus: Its NPUs; 0: not told.
        network: It is a level of a network that is a graph.
    """

    topology: str = ""
    npus: int = 0
    network: bool = False


def with_admitted(
    file: SpaceFile,
    machine: Sequence[DimensionFacts],
    groups: Mapping[str, Parameter],
    slots: Sequence[int],
    at: str,
) -> SpaceFile:
    """*file* with the choices of knobs that are ``admitted``, and the rules that go with them.

    An algorithm that no form of a dimension admits is no choice there; one that only some forms
    admit is tied to them by a rule of the problem.

    Args:
        file: As written.
        machine: Dimensions of the run.
        groups: Knobs of products, by name.
        slots: Dimensions that a design may have.
        at: Place of the space in the study file.

    Raises:
        ConfigError: The knob is none of an algorithm, or nothing is known of a dimension.
    """
    axes, rules = dict[str, AxisFile](), list(file.require)
    for name, axis in file.axes.items():
        if axis.choices != ADMITTED:
            axes[name] = axis
            continue
        place, match = f"{at}.axes.{name}", _KNOB.fullmatch(name)
        if match is None:
            rule = "must be a list, but for algorithms such as system.all_reduce[*]"
            raise ConfigError(f"{place}.choices", rule, got=ADMITTED)
        every = match[2] in (None, "*")
        own = list(slots) if every else [int(match[2])]
        parts = [own] if match[2] is None else [[slot] for slot in own]
        for part in parts:
            forms = [_forms(file, machine, groups, slot, place) for slot in part]
            knob = at_slot(name, part[0] if part else 0)
            choices, ties = _choices(match[1], knob, part, forms, place)
            when = axis.when and at_slot(axis.when, part[0])
            sets = tuple(at_slot(path, part[0]) for path in axis.sets)
            axes[knob] = axis.model_copy(update={"choices": choices, "when": when, "sets": sets})
            rules += ties
    return file.model_copy(update={"axes": axes, "require": tuple(rules)})


_Forms = Mapping[tuple[str, int], bool]
"""Topology and NPUs that a dimension may have, and whether it is a level of a network."""


def _choices(
    kind: str, knob: str, slots: Sequence[int], forms: Sequence[_Forms], at: str
) -> tuple[tuple[Value, ...], list[str]]:
    """Algorithms that some form of all dimensions at *slots* admits, and the rules for the rest."""
    if not forms:
        raise ConfigError(at, "needs dimensions that are told in the run", got=knob)
    found, rules = list[Value](), list[str]()
    admitted = [
        {form: admitted_algorithms(kind, *form, network=network) for form, network in one.items()}
        for one in forms
    ]
    names = dict.fromkeys(name for one in admitted for own in one.values() for name in own)
    for name in names:
        fits = [[form for form, own in one.items() if name in own] for one in admitted]
        if not all(fits):
            continue
        found.append(name)
        for slot, some, one in zip(slots, fits, forms, strict=True):
            if len(some) < len(one):
                rules.append(f"{knob} != {name!r} or {_condition(slot, some, one)}")
    if not found:
        raise ConfigError(at, "must have an algorithm that every dimension admits", got=kind)
    return tuple(found), rules


def _condition(slot: int, some: Sequence[tuple[str, int]], of: _Forms) -> str:
    """Rule that holds for *some* of the forms of the dimension at *slot*."""
    path, parts = f"platform.dimensions[{slot}]", list[str]()
    topologies = dict.fromkeys(topology for topology, _ in of)
    counts = dict.fromkeys(npus for _, npus in of)
    for topology in dict.fromkeys(topology for topology, _ in some):
        own = [npus for one, npus in some if one == topology]
        told = [f"{path}.topology == {topology!r}"] if len(topologies) > 1 else []
        if len(own) < len(counts):
            told.append(f"{path}.npus in ({', '.join(map(str, own))},)")
        parts.append(f"({' and '.join(told)})")
    return f"({' or '.join(parts)})"


def _forms(
    file: SpaceFile,
    machine: Sequence[DimensionFacts],
    groups: Mapping[str, Parameter],
    slot: int,
    at: str,
) -> _Forms:
    """Forms that the dimension at *slot* may have."""
    fixed = machine[slot] if slot < len(machine) else DimensionFacts()
    path = f"platform.dimensions[{slot}]"
    topologies = _told(file, f"{path}.topology") or ([fixed.topology] if fixed.topology else [])
    knob = groups.get(f"{path}.npus")
    counts = list(knob.choices) if knob else _told(file, f"{path}.npus")
    counts = counts or ([fixed.npus] if fixed.npus else [])
    if not topologies or not counts:
        rule = f"needs topology and NPUs of dimension {slot}, in the run or as knobs with choices"
        raise ConfigError(at, rule, got=ADMITTED)
    return {(str(topology), int(npus)): fixed.network for topology in topologies for npus in counts}


def _told(file: SpaceFile, name: str) -> list[Value]:
    """Choices of the knob *name*, where it is one."""
    for item in (name, re.sub(r"\[\d+\]", "[*]", name)):
        axis = file.axes.get(item)
        if axis is not None:
            listed = axis.choices or axis.ladder
            return list(listed) if isinstance(listed, tuple) else []
    return []
