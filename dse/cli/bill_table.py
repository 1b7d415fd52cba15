"""A bill of materials in the terminal."""

from rich.console import Console
from rich.table import Table

from dse.costs.bill import Bill
from simcore import BillLine, Platform

_DESCRIBED, _ROOMY, _NARROW = 180, 110, 72
"""Least widths with descriptions of parts, with all digits, and with ranges of prices."""

_AMOUNTS = ("count", "USD", "low", "high", "kW", "rack units")


def print_bill(bill: Bill, platform: Platform) -> None:
    """Print all lines of *bill*, its totals, and what is custom or estimated.

    No line of the table wraps: narrow terminals have names of parts for their descriptions, short
    numbers, and fewer columns.
    """
    console = Console()
    is_roomy, is_narrow = console.width >= _ROOMY, console.width < _NARROW
    shown = _AMOUNTS if is_roomy else ("count", "USD", "kW") if is_narrow else _AMOUNTS[:-1]
    told = _number if is_roomy else _short
    table = Table(box=None, pad_edge=False, show_footer=True)
    if is_roomy:
        table.add_column("group", no_wrap=True)
    table.add_column("part", no_wrap=True, overflow="ellipsis", footer="all")
    totals = {
        "USD": bill.usd,
        "low": bill.low_usd,
        "high": bill.high_usd,
        "kW": bill.power_w / 1e3,
    }
    for name in shown:
        footer = told(totals[name]) if name in totals else ""
        table.add_column(name, justify="right", no_wrap=True, footer=footer)
    for line in bill.lines:
        part = line.what if console.width >= _DESCRIBED else line.part
        names = (line.group, part) if is_roomy else (part,)
        amounts = _amounts(line)
        cells = (told(amounts[name]) for name in shown[1:])
        count = f"{_number(line.count)} {line.unit}".strip()
        table.add_row(*names[:-1], names[-1] + " *" * line.estimate, count, *cells)
    console.print(table)
    if any(line.estimate for line in bill.lines):
        console.print("* estimate: no published price was found")
    network = bill.network
    console.print(
        f"all: {_number(bill.usd)} USD ({_number(bill.low_usd)} to {_number(bill.high_usd)}); "
        f"network: {_number(network.usd)} USD ({_number(network.low_usd)} to "
        f"{_number(network.high_usd)}), {bill.network_share:.1%} of the machine; "
        f"{bill.ports_per_npu:g} network {'port' if bill.ports_per_npu == 1 else 'ports'} per NPU; "
        f"{platform.npus:,} NPUs; "
        f"{bill.area_m2:,.0f} m2 of floor",
        highlight=False,
    )
    for note in bill.notes:
        console.print(f"note: {note}", highlight=False)


def _amounts(line: BillLine) -> dict[str, float | None]:
    """Cells of a line by name of their column; None: in the price of something else."""
    usd = (line.usd, line.low_usd, line.high_usd) if line.priced else (None, None, None)
    cells = (line.count, *usd, line.power_w / 1e3, line.rack_units)
    return dict(zip(_AMOUNTS, cells, strict=True))


def _short(value: float | None) -> str:
    """Three digits, in thousands (k) or millions (M) where there are more."""
    if value is None:
        return "incl."
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            digits = (
                f"{value / limit:,.0f}" if abs(value) >= 100 * limit else f"{value / limit:#.3g}"
            )
            return digits + letter
    return _number(value)


def _number(value: float | None) -> str:
    if value is None:
        return "included"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
