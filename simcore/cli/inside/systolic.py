"""``simcore systolic``: layers on systolic arrays."""

from pathlib import Path

import click


@click.command()
@click.argument("layers", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The reports go here (CSV)."
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="Configuration of SCALE-Sim (.cfg): LAYERS is then a topology file of it.",
)
def systolic(layers: Path, out: Path, config: Path | None) -> None:
    """Work out what LAYERS take on systolic arrays: cycles, stalls, accesses.

    LAYERS is a table with an array in each line, or a topology file of SCALE-Sim, of convolutions
    or of products.
    """
    from simcore.cli.first_use import announce_compilation_of
    from simcore.cli.settings import write_text
    from simcore.systolic.scale_sim import read_config, topology_cases
    from simcore.systolic.table import predict, read_cases

    cases = read_cases(layers) if config is None else topology_cases(layers, read_config(config))
    announce_compilation_of("systolic.layer.run_layer", "systolic")
    found = predict(cases)
    write_text(out, found.text)
    click.echo(f"{len(cases)} layers, {found.errors} errors. Reports in {out}.")
