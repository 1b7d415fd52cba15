"""The only place with unit factors: reads, prints and adds quantities such as ``"50 GB/s"``.

GB is 10^9 bytes and GiB 2^30, always; ``Gb`` is bits; FLOP counts a multiply-add as two.
"""

import math
import re
from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import TypeVar

_BYTES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_BINARY = {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_BITS = {"b": 1 / 8, "kb": 1e3 / 8, "Kb": 1e3 / 8, "Mb": 1e6 / 8, "Gb": 1e9 / 8, "Tb": 1e12 / 8}
_SIZES = _BYTES | _BINARY
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}

FACTORS: dict[str, dict[str, float]] = {
    "B": _SIZES,
    "B/s": {f"{name}/s": factor for name, factor in (_SIZES | _BITS).items()},
    "s": {
        "ns": 1e-9,
        "us": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "min": 60.0,
        "h": 3600.0,
        "d": 86400.0,
        "year": 8766 * 3600.0,
        "years": 8766 * 3600.0,
    },
    "FLOP": {f"{prefix}FLOP": factor for prefix, factor in _PREFIXES.items()},
    "FLOP/s": {f"{prefix}FLOP/s": factor for prefix, factor in _PREFIXES.items()},
    "Hz": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "W": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "USD": {"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6},
    "USD/(GB/s)": {"USD/(GB/s)": 1.0},
    "W/(GB/s)": {"W/(GB/s)": 1.0},
    "USD/kWh": {"USD/kWh": 1.0},
    "USD/h": {"USD/h": 1.0},
    "kg/kWh": {"kg/kWh": 1.0, "g/kWh": 1e-3},
    "J": {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "kWh": 3.6e6, "MWh": 3.6e9},
    "1/year": {"%/year": 0.01, "1/year": 1.0},
}
"""Per dimension (named by its base unit), the units that files may use and their factors."""

_QUANTITY = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*?)\s*")


def parse_quantity(text: str, base: str) -> float:
    """The value of *text* (``"50 GB/s"``) in the unit *base* (``"B/s"``).

    Raises:
        ValueError: No number, no unit, or a unit of another dimension; the message says which
            units are known.
    """
    factors = FACTORS[base]
    known = ", ".join(factors)
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a number and a unit ({known})")
    number, unit = match.groups()
    if unit not in factors:
        raise ValueError(f"must have one of the units {known}")
    value = float(number.replace("_", "")) * factors[unit]
    return float(f"{value:.15g}")  # 1.7 us is 1.7e-6 s, not 1.6999999999999998e-06 s


_SHOWN = {
    "B": ["B", "KB", "MB", "GB", "TB", "PB"],
    "B/s": ["B/s", "KB/s", "MB/s", "GB/s", "TB/s"],
    "s": ["ns", "us", "ms", "s"],
    "FLOP": ["FLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"],
    "FLOP/s": ["FLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"],
    "W": ["W", "kW", "MW"],
    "J": ["J", "kJ", "MJ", "GJ"],
    "USD": ["USD", "kUSD", "MUSD"],
}


def format_quantity(value: float, base: str, digits: int = 4) -> str:
    """*value* (in *base*) with the largest unit that keeps it at 1 or more: ``"1.5 GB/s"``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {base}"
    shown = _SHOWN.get(base, [base])
    unit = shown[0]
    for name in shown:
        if abs(value) / FACTORS[base][name] >= 1:
            unit = name
    return f"{value / FACTORS[base][unit]:.{digits}g} {unit}"


def format_memory(size_bytes: float, digits: int = 4) -> str:
    """*size_bytes* in powers of 1,024, as memories are sold: ``"80 GiB"``."""
    fitting = [unit for unit, factor in _BINARY.items() if abs(size_bytes) >= factor]
    if not fitting:
        return f"{size_bytes:g} B"
    return f"{size_bytes / _BINARY[fitting[-1]]:.{digits}g} {fitting[-1]}"


_Number = TypeVar("_Number", int, float)


def plain_sum(values: Iterable[_Number]) -> _Number:
    """Sum of *values* from left to right, rounded after each one, as kernels add; 0 for none.

    Python's own ``sum`` carries the rounding errors along from version 3.12 on, so that its last
    digit depends on the version.
    """
    return reduce(add, values, 0)
