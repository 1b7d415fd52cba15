"""``simcore place``: ranks of a run placed on its network, and what that saves."""

from pathlib import Path

import click

from simcore.cli.settings import setting, settings_option, write_text


@click.command(short_help="Place the ranks of a run on its network.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--placement", "rule", help="Placement in place of the file's, such as greedy.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the NPU of each rank here, as JSON."
)
@settings_option("plan.order=pp-dp-tp")
def place(file: Path, rule: str | None, out: Path | None, settings: tuple[str, ...]) -> None:
    """Place the ranks of the run file FILE by its traffic, and tell what links carry.

    Nothing is simulated. The file of --out may be named as the placement of a run.
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from simcore.config import load_run
    from simcore.engines.placed.on_machine import placed_on
    from simcore.memo import Memo
    from simcore.units import format_quantity

    values = dict(setting(text) for text in settings)
    if rule is not None:
        values["placement"] = rule
    run = load_run(file, values)
    machine = run.platform, run.system
    found = placed_on(run.placement, run.workload, run.plan, *machine, Memo())
    table = Table("", "ranks as they are", f"placed: {found.rule}")
    for name, (before, after) in (
        ("links kept, all together", found.kept_s),
        ("busiest link kept", found.busiest_s),
    ):
        table.add_row(name, format_quantity(before, "s"), format_quantity(after, "s"))
    for way in found.ways:
        label = f"links that a byte of {way.axis} crosses ({format_quantity(way.size_bytes, 'B')})"
        table.add_row(label, f"{way.crossed[0]:.3g}", f"{way.crossed[1]:.3g}")
    Console().print(table)
    if out is not None:
        write_text(out, json.dumps({"npus": found.where.tolist()}) + "\n")
