"""``simcore network``: counts and pictures of network graphs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simcore.graphs.structure import Structure


@click.group(short_help="Show and draw network graphs.")
def network() -> None:
    """Show and draw network graphs: families by name, or graphs of other programs."""


@network.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write counts here."
)
@click.option("--npu", help="Accelerator of the NPUs, whose server brings cards and own links.")
def show(file: Path, out: Path | None, npu: str | None) -> None:
    """Show the network in FILE: parts and their prices, ports, distances, narrowest cut.

    FILE (JSON or YAML) holds a family and its parameters, or a list of them, each with an id; or
    it is a graph of another program: node-link JSON, GraphML, the XML of NCCL.
    """
    from dataclasses import asdict
    from json import dumps

    from simcore.cli.graphs.prices import priced_network
    from simcore.cli.settings import write_text
    from simcore.errors import ConfigError
    from simcore.graphs.read import read_networks
    from simcore.graphs.routed import routed
    from simcore.graphs.structure import describe

    networks, listed = read_networks(file)
    found, priced = {}, {}
    for one in networks:
        try:
            graph, speeds = one.graph(), one.has_speeds
            if speeds and (one.routing or one.shape):
                routed(one).way(0, 1)  # refuses what a run with it would
            found[one.id] = describe(graph, one.pairs, one.formula(), has_speeds=speeds)
        except ConfigError as error:
            raise (error.under(one.id) if one.id else error).in_file(file) from None
        for line in _lines(found[one.id], one.id or one.family or "graph"):
            click.echo(line)
        if one.has_speeds:
            priced[one.id] = bill = priced_network(one, npu)
            for line in bill.lines():
                click.echo(line)
    if out is not None:
        data = {name: asdict(structure) for name, structure in found.items()}
        for name, bill in priced.items():
            data[name] |= bill.table()
        write_text(out, dumps(data if listed else data[networks[0].id], indent=2))


@network.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the picture (SVG) here.",
)
def draw(file: Path, out: Path) -> None:
    """Draw the network in FILE, which holds one family and its parameters."""
    from simcore.cli.settings import write_text
    from simcore.errors import ConfigError
    from simcore.graphs.draw import drawing
    from simcore.graphs.read import read_networks

    networks, _ = read_networks(file)
    if len(networks) != 1:
        raise ConfigError(str(file), "must hold one network to be drawn", got=len(networks))
    one = networks[0]
    try:
        name = one.id or one.family or "graph"
        picture = drawing(one.graph(), f"{name}: {_told(one.params)}")
    except ConfigError as error:
        raise error.in_file(file) from None
    write_text(out, picture)
    click.echo(f"Picture in {out}.")


def _told(params: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in params.items())


def _lines(found: "Structure", name: str) -> Iterator[str]:
    yield name
    tiers = ", ".join(f"{count} {tier}" for tier, count in found.switches_by_tier.items())
    ports = _range(found.npu_ports_min, found.npu_ports_max)
    yield f"  NPUs        {found.npus}, with {ports} ports"
    yield f"  switches    {found.switches}{f' ({tiers})' if tiers else ''}"
    if found.radix_by_tier:
        radix = ", ".join(f"{most} on a {tier}" for tier, most in found.radix_by_tier.items())
        yield f"  used ports  at most {radix}"
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.links_by_kind.items())
    yield f"  cables      {found.links} ({kinds})"
    yield from _distances(found)
    cut = "not known" if found.bisection_links is None else f"{found.bisection_links} cables"
    if found.bisection_bytes_per_s is not None:
        cut = f"{found.bisection_bytes_per_s / 1e9:g} GB/s, {cut}"
    yield f"  bisection   {cut} ({found.bisection_method})"
    if found.circuits:
        yield (
            f"  circuits    {found.circuits} of the cables lead through "
            f"{found.circuit_ports} ports of circuit switches; what stands above is of all cables"
        )
    for a, b, links, ways in found.pairs:
        far = "no way" if links is None else f"{links} links, {ways} shortest ways"
        yield f"  {a} to {b}: {far}"


def _distances(found: "Structure") -> Iterator[str]:
    if found.distance_sum is None:
        yield f"  distances   {found.unreachable_pairs} pairs of NPUs cannot reach each other"
        return
    mean = found.distance_sum / max(found.npus * (found.npus - 1), 1)
    most = f"at most {found.diameter_links} links and {found.diameter_switches} switches"
    yield f"  distances   {most}, {mean:.3f} links in the mean"


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
