"""``simcore synthesise``: a collective for a network graph."""

from pathlib import Path
from typing import Any

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
    help="Write the schedule here.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "msccl"]),
    help="Form of the schedule; by default msccl (XML) if the file ends in .xml, else json.",
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
    **how: Any,
) -> None:
    """Choose which link of the network in GRAPH carries which chunk when, for one collective.

    A piece is what one NPU brings to an all-gather or keeps of a reduce-scatter, one of as many
    parts of an all-reduce as there are NPUs, and what one NPU sends another in an all-to-all. The
    schedule is replayed before it is written: links are never shared, every NPU ends with its
    chunks, contributions count once; MSCCL XML is read back and run step by step. Its time is told
    beside a bound that nothing can go below.
    """
    from simcore.cli.settings import write_text
    from simcore.synthesis.fabric import read_fabric
    from simcore.synthesis.msccl import msccl_text
    from simcore.synthesis.msccl_check import check_program, program_of
    from simcore.synthesis.schedule_file import schedule_text
    from simcore.synthesis.synthesise import synthesise as synthesised

    fabric = read_fabric(graph, how["switches_copy"], how["switches_reduce"])
    if size is None:
        fabric = fabric.without_latency()
    found = synthesised(fabric, collective, 1.0 if size is None else size, chunks, how["seed"])
    schedule, bound = found.schedule, found.bound
    if how["form"] == "msccl" or (how["form"] is None and out.suffix == ".xml"):
        text = msccl_text(schedule)
        check_program(program_of(text))
    else:
        text = schedule_text(found)
    write_text(out, text)
    click.echo(f"{collective} on {fabric.npus} NPUs: {found.by}, {schedule.sends} sends")
    click.echo(f"  time       {schedule.time:.6g}")
    click.echo(f"  bound      {bound.time:.6g} ({bound.by}); latency alone {bound.latency:.6g}")
    click.echo(f"  of bound   {100 * found.share:.2f} %")
    click.echo(f"Replayed without fault. Schedule in {out}.")
