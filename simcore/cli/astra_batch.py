"""``simcore astra-batch``, and how click calls ``simcore astra``."""

from pathlib import Path

import click

from simcore.cli.astra import run_astra, start_quickly


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def astra(words: tuple[str, ...]) -> None:
    """Simulate the files of one ASTRA-sim run."""
    raise SystemExit(run_astra(list(words)))


@click.command("astra-batch", short_help="Simulate many ASTRA-sim runs in one process.")
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results (JSON) here.",
)
def astra_batch(manifest: Path, out: Path) -> None:
    """Simulate every run of MANIFEST (JSON); one that fails does not stop the others."""
    start_quickly()
    from collections import Counter
    from json import dumps

    from simcore.formats.astra import read_manifest, run_batch

    statuses: Counter[str] = Counter()
    entries = read_manifest(manifest)

    def on_done(_name: str, status: str) -> None:
        statuses[status] += 1

    results = run_batch(entries, manifest.parent, on_done)
    out.write_text(dumps(results), encoding="utf-8")
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    click.echo(f"{sum(statuses.values())} runs: {told or 'none'}. Results in {out}.")
