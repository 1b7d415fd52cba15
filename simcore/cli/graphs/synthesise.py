"""``simcore synthesise``: a collective for a network graph."""

from pathlib import Path

import click


@click.command(short_help="Synthesise a collective for a network graph.")
@click.argument("graph", type=click.Path(path_type=Path))
@click.option(
    "--collective",
    required=True,
    metavar="KIND",
    help="all_gather, reduce_scatter, all_reduce or all_to_all.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the schedule (JSON) here.",
)
@click.option(
    "--size",
    type=float,
    help="Size of a piece in bytes (or the graph's own unit). Without it pieces of 1 are timed as"
    " parts of large ones: latencies do not count.",
)
@click.option("--chunks", type=int, help="Chunks of a piece; as many as pay, unless given.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of what is drawn.")
@click.option("--switches-copy", is_flag=True, help="Switches can send on more than once.")
@click.option("--switches-reduce", is_flag=True, help="Switches can combine chunks.")
def synthesise(
    graph: Path,
    collective: str,
    out: Path,
    size: float | None,
    chunks: int | None,
    seed: int,
    **switches: bool,
) -> None:
    """Choose which link of the network in GRAPH carries which chunk when, for one collective.

    A piece is what one NPU brings to an all-gather or keeps of a reduce-scatter, one of as many
    parts of an all-reduce as there are NPUs, and what one NPU sends another in an all-to-all. The
    schedule is replayed before it is written: links are never shared, every NPU ends with its
    chunks, contributions count once. Its time is told beside a bound that nothing can go below.
    """
    from simcore.cli.settings import write_text
    from simcore.synthesis.fabric import read_fabric
    from simcore.synthesis.schedule_file import schedule_text
    from simcore.synthesis.synthesise import synthesise as synthesised

    fabric = read_fabric(graph, switches["switches_copy"], switches["switches_reduce"])
    if size is None:
        fabric = fabric.without_latency()
    found = synthesised(fabric, collective, 1.0 if size is None else size, chunks, seed)
    write_text(out, schedule_text(found))
    schedule, bound = found.schedule, found.bound
    click.echo(f"{collective} on {fabric.npus} NPUs: {found.by}, {schedule.sends} sends")
    click.echo(f"  time       {schedule.time:.6g}")
    click.echo(f"  bound      {bound.time:.6g} ({bound.by}); latency alone {bound.latency:.6g}")
    click.echo(f"  of bound   {100 * found.share:.2f} %")
    click.echo(f"Replayed without fault. Schedule in {out}.")
