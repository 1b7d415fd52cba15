"""A bill of materials in the terminal."""

from rich.console import Console
from rich.table import Table

from dse.costs.bill import Bill
from simcore import Platform

_COLUMNS = ("group", "part", "count", "USD", "low", "high", "kW", "rack units")


def print_bill(bill: Bill, platform: Platform) -> None:
    """Print all lines of *bill*, its totals, and what is custom or estimated."""
    console = Console()
    table = Table(box=None, pad_edge=False, show_footer=True)
    table.add_column("group")
    table.add_column("part", overflow="fold", footer="all")
    totals = (None, bill.usd, bill.low_usd, bill.high_usd, bill.power_w / 1e3, None)
    for name, total in zip(_COLUMNS[2:], totals, strict=True):
        table.add_column(name, justify="right", footer="" if total is None else _number(total))
    for line in bill.lines:
        mark = " (estimate)" if line.estimate else ""
        amounts = (line.usd, line.low_usd, line.high_usd) if line.priced else (None, None, None)
        cells = (line.count, *amounts, line.power_w / 1e3, line.rack_units)
        table.add_row(line.group, line.what + mark, *(_number(cell) for cell in cells))
    console.print(table)
    network = bill.network
    console.print(
        f"network: {_number(network.usd)} USD ({_number(network.low_usd)} to "
        f"{_number(network.high_usd)}), {bill.network_share:.1%} of the machine; "
        f"{bill.ports_per_npu:g} network ports per NPU; {platform.npus} NPUs; "
        f"{bill.area_m2:,.0f} m2 of floor",
        highlight=False,
    )
    for note in bill.notes:
        console.print(f"note: {note}", highlight=False)


def _number(value: float | None) -> str:
    if value is None:
        return "included"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
