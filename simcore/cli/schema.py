"""``simcore schema``: JSON Schemas for editors."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def schema(folder: Path) -> None:
    """Write one JSON Schema per kind of file into FOLDER; studies and price books: dse schema."""
    from simcore.cli.settings import write_text
    from simcore.file_schemas import json_schemas

    folder.mkdir(parents=True, exist_ok=True)
    for name, content in json_schemas().items():
        path = folder / f"{name}.schema.json"
        write_text(path, json.dumps(content, indent=1) + "\n")
        click.echo(str(path))
