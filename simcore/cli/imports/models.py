"""``simcore models``: counts of models from their ``config.json``."""

from pathlib import Path

import click


@click.command(short_help="Count parameters and caches of Hugging Face models.")
@click.argument(
    "files", metavar="FILES...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the counts (JSON) here.",
)
def models(files: tuple[Path, ...], out: Path | None) -> None:
    """Count parameters and key-value caches of models from their config.json of Hugging Face.

    FILES are config.json files, or manifests: lists (JSON) of id and file. A model with a part
    that is not modelled is refused, never approximated.
    """
    from json import dumps

    from simcore.cli.settings import write_text
    from simcore.errors import ConfigError
    from simcore.workload.hub.batch import count_models

    results: dict[str, dict[str, object]] = {}
    for file in files:
        found = count_models(file)
        both = sorted(set(found) & set(results))
        if both:
            raise ConfigError(f"{file}: id", "must be in one manifest only", got=both[0])
        results |= found
    if out is not None:
        write_text(out, dumps(results, indent=1) + "\n")
    else:
        for name, result in results.items():
            click.echo("\n".join(_lines(name, result)))
    done = sum(result["status"] == "ok" for result in results.values())
    where = "" if out is None else f" Results in {out}."
    click.echo(f"{done} of {len(results)} models counted.{where}")


def _lines(name: str, found: dict[str, object]) -> list[str]:
    if found["status"] != "ok":
        return [f"{name}: {found['status']}", f"  {found['reason']}"]
    told = [f"  {key:<28}{value:>22,}" for key, value in found.items() if isinstance(value, int)]
    return [name, *told]
