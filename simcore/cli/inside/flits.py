"""``simcore flits``: networks flit by flit."""

from pathlib import Path

import click


@click.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The results go here (JSON)."
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Draw latency against load, and how much links are used (.svg, .png, .pdf).",
)
def flits(manifest: Path, out: Path, plot: Path | None) -> None:
    """Simulate the networks of MANIFEST (JSON) flit by flit; one that fails stops no other.

    Meshes, tori, concentrated meshes, butterflies, fat trees and networks from a file; batches, and
    states under a load.
    """
    from collections import Counter
    from json import dumps

    from simcore.cli.first_use import announce_compilation_of
    from simcore.cli.settings import write_text
    from simcore.flits.manifest import read_manifest, run_cases
    from simcore.flits.picture import check_plot, draw

    if plot is not None:
        check_plot(plot)
    tables, cases = read_manifest(manifest)
    announce_compilation_of("flits.run.run_until", "flit")
    statuses: Counter[str] = Counter()
    results = run_cases(
        tables, cases, lambda _, status: statuses.update([status]), manifest.parent,
        lambda name, note: click.echo(f"{name}: {note}.", err=True),
    )  # fmt: skip
    for name, result in results.items():
        if result["status"] == "error":
            click.echo(f"{name}: {result['message']}", err=True)
    write_text(out, dumps(results, indent=1) + "\n")
    if plot is not None:
        draw(plot, tables, cases, results, manifest.parent)
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    click.echo(f"{len(results)} networks: {told or 'none'}. Results in {out}.")
