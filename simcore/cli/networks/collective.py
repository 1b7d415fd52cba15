"""``simcore collective``: times of one collective by each algorithm that a machine admits."""

from typing import TYPE_CHECKING, Any

import click

from simcore.cli.settings import json_option, setting, settings_option, write_text
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.engines.collectives.alone import Alone

_ROUTERS = "routers."


@click.command(short_help="Time one collective by each algorithm that a machine admits.")
@click.argument("kind")
@click.option("--platform", required=True, help="A shipped platform, or a file of one.")
@click.option(
    "--size",
    default="64 MiB",
    show_default=True,
    help="Of the whole buffer; of a gather or an all-gather what one NPU has.",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    help="One name, or one per dimension with commas; all that are admitted unless given.",
)
@click.option("--npus", type=click.IntRange(min=2), help="Members, the first ones; all by default.")
@click.option("--backend", default="congestion_unaware", show_default=True, help="Of the network.")
@settings_option("chunks=1, a key of the system layer, or routers.flit='4 B'")
@json_option
def collective(kind: str, platform: str, size: str, **how: Any) -> None:
    """Time the collective KIND (all_reduce, broadcast, barrier, ...) among NPUs of a platform.

    The root of a broadcast, reduce, gather or scatter is NPU 0. Members begin together on an idle
    machine. Algorithms that are not told run all dimensions alike.
    """
    from simcore.engines.collectives.alone import Asked, times_alone
    from simcore.machine import load_platform
    from simcore.units import parse_quantity

    try:
        size_bytes = round(parse_quantity(size, "B"))
    except ValueError as error:
        raise ConfigError("--size", str(error), got=size) from None
    told = dict(map(setting, how["settings"]))
    routers = {key: told.pop(key) for key in list(told) if key.startswith(_ROUTERS)}
    asked = Asked(
        collective=kind,
        size_bytes=size_bytes,
        npus=how["npus"],
        backend=how["backend"],
        system=told,
        routers={key.removeprefix(_ROUTERS): value for key, value in routers.items()},
    )
    algorithms = [tuple(name.split(",")) for name in how["algorithms"]]
    found = times_alone(load_platform(platform), asked, algorithms)
    width = max(len(one.name) for one in found)
    click.echo(f"{'algorithm':{width}}  last us     first us    sent per NPU")
    for one in sorted(found, key=lambda one: one.last_ns):
        click.echo(
            f"{one.name:{width}}  {one.last_ns * 1e-3:<10.3f}  {one.first_ns * 1e-3:<10.3f}  "
            f"{one.sent_bytes:,.0f} B"
        )
        for note in one.notes:
            click.echo(f"  {note}")
    if how["json_out"] is not None:
        write_text(how["json_out"], _text(found))


def _text(found: "list[Alone]") -> str:
    import json

    rows = [
        {"algorithm": one.name, "last_s": one.last_ns * 1e-9, "first_s": one.first_ns * 1e-9,
         "sent_bytes": one.sent_bytes, "notes": list(one.notes)}
        for one in found
    ]  # fmt: skip
    return json.dumps(rows, indent=1) + "\n"
