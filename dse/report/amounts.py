"""Numbers for people."""

from dse.objectives import OBJECTIVES
from dse.space import Parameter
from simcore import FACTORS, TOPOLOGIES, format_memory, format_quantity


def show_objective(name: str, value: float) -> str:
    """An objective with its unit: ``1.25 s``, ``3.4 MUSD``."""
    return show_amount(value, OBJECTIVES[name].unit)


_SCALED = {
    "USD/token": (1e6, "USD per million tokens"),
    "J/token": (1.0, "MJ per million tokens"),
    "kg/token": (1e6, "kg per million tokens"),
}
"""Factor and name of the unit that people say in place of another one."""


def said_unit(unit: str) -> tuple[float, str]:
    """Factor of the unit that people say in place of *unit*, and its name."""
    return _SCALED.get(unit, (1.0, unit))


def show_amount(value: float, unit: str) -> str:
    """A number with its unit, at four digits."""
    factor, said = said_unit(unit)
    if said != unit:
        return f"{value * factor:.4g} {said}"
    if unit == "B":
        return format_memory(value)
    if unit in FACTORS:
        return format_quantity(value, unit)
    return f"{value:.4g} {unit}".strip()


_SHORT = {
    "halving_doubling": "hd",
    "double_binary_tree": "dbt",
    "recursive_doubling": "rd",
    "local_bw_aware": "local bw",
}
"""Long words of the run file, as tables show them."""


NO_MEANING = "-"
"""Stands for a knob that a design does not have."""


def show_value(parameter: Parameter, value: object) -> str:
    """The value of a knob: ``50 GB/s``, ``ring``, ``yes``; a dash if it has no meaning."""
    if value is None:
        return NO_MEANING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if parameter.unit is not None and isinstance(value, int | float):
        return format_quantity(float(value), parameter.unit)
    return f"{value:g}" if isinstance(value, float) else str(value)


def show_short(parameter: Parameter, value: object) -> str:
    """``show_value``, shorter: ``FC`` for ``fully_connected``."""
    text = show_value(parameter, value)
    if text in list(TOPOLOGIES):
        return TOPOLOGIES[text].symbol or text
    return _SHORT.get(text, text)


def join_values(texts: list[str]) -> str:
    """Values of one knob in all network dimensions: ``300/50/25 GB/s``, ``ring/FC/SW``."""
    given = [text for text in texts if text != NO_MEANING]
    units = {text.partition(" ")[2] for text in given}
    if len(units) == 1 and (unit := units.pop()) and given[0][0].isdigit():
        return "/".join(text.partition(" ")[0] for text in given) + f" {unit}"
    return "/".join(given)


_UNITS = {"_bytes": "B", "_s": "s", "_w": "W", "_usd": "USD"}
"""Units that names of metrics end in."""


def show_metric(name: str, value: float) -> tuple[str, str]:
    """The name of a metric without its unit, and the value with it."""
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            return plain(name.removesuffix(ending)), show_amount(value, unit)
    return plain(name), f"{value:.4g}"


def plain(name: str) -> str:
    """A name as words."""
    return name.replace("_", " ")


def short_names(names: list[str]) -> dict[str, str]:
    """Knob names without what all paths share: ``plan.tp`` is ``tp`` if no other knob is."""
    short = {name: _short(name) for name in names}
    counts = list(short.values())
    return {name: text if counts.count(text) == 1 else name for name, text in short.items()}


_TABLES = ("plan", "platform", "system", "workload")
"""Tables of a run file; a knob that begins with another word is of a pool, which is told."""


def _short(name: str) -> str:
    if name.startswith("platform.dimensions["):
        slot, _, rest = name.removeprefix("platform.dimensions[").partition("].")
        return f"dim{slot}.{rest}"
    table, _, rest = name.partition(".")
    return rest if rest and table in _TABLES else name
