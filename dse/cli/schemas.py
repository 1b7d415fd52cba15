"""``dse schema``: JSON Schemas for editors."""

import json
from pathlib import Path

import click

from dse.plain_files import written_whole
from dse.study.schemas import all_schemas
from simcore import ConfigError


def schema_command(folder: Path) -> None:
    """Write one schema for each kind of file.

    Raises:
        ConfigError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in all_schemas().items():
            path = folder / f"{name}.schema.json"
            with written_whole(path) as partial:
                partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            click.echo(str(path))
    except OSError as error:
        got = error.strerror or str(error)
        raise ConfigError(str(folder), "must be a folder that can be written", got=got) from None
