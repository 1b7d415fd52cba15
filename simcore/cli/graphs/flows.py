"""``simcore flows``: flows on network graphs, file by file."""

from pathlib import Path

import click


@click.command(short_help="Simulate flows on network graphs.")
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results (JSON) here.",
)
def flows(manifest: Path, out: Path) -> None:
    """Simulate the flows of every file of MANIFEST (JSON); one that fails does not stop others.

    Flows share links max-min fairly at every instant. The results hold, by name, when each flow
    ends, the bytes of each link and, where asked for, rates over time.
    """
    from collections import Counter
    from json import dumps

    from simcore.cli.settings import write_text
    from simcore.flows.batch import read_flow_manifest, run_flow_batch

    statuses: Counter[str] = Counter()

    def on_done(_name: str, status: str) -> None:
        statuses[status] += 1

    results = run_flow_batch(read_flow_manifest(manifest), manifest.parent, on_done)
    write_text(out, dumps(results))
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    click.echo(f"{sum(statuses.values())} files: {told or 'none'}. Results in {out}.")
