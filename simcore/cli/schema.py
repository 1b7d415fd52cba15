"""``simcore schema``: JSON Schemas for editors."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def schema(folder: Path) -> None:
    """Write one JSON Schema per kind of file into FOLDER."""
    from pydantic import BaseModel

    from simcore.config import Run
    from simcore.machine import json_schemas
    from simcore.serving import Service
    from simcore.validation import Calibration
    from simcore.workload.kinds import DEFAULT_KIND, KINDS, net_class

    nets = {f"model_{kind}": net_class(workload) for kind, workload in KINDS.items()}
    nets["model"] = nets.pop(f"model_{DEFAULT_KIND}")
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, type[BaseModel]] = {
        **nets,
        "run": Run,
        "service": Service,
        "calibration": Calibration,
    }
    for name, content in json_schemas(files).items():
        path = folder / f"{name}.schema.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        click.echo(str(path))
