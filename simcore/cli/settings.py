"""Options of several commands: values by path, and files for results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from simcore.errors import ConfigError

json_option = click.option(
    "--json", "json_out", type=click.Path(path_type=Path), help="Write the result here."
)
calibration_option = click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    help="Runs of one's own that move the prediction: a file of `simcore calibrate`.",
)


def settings_option(examples: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option for other values than those of the file."""
    text = f"Another value, such as {examples}."
    return click.option("--set", "settings", multiple=True, metavar="PATH=VALUE", help=text)


def setting(text: str) -> tuple[str, object]:
    """``path=value`` with the value read as YAML.

    Raises:
        ConfigError: There is no path, or the value is no YAML.
    """
    from simcore.files.yaml_file import parse_yaml

    path, equals, value = text.partition("=")
    if not equals or not path:
        raise ConfigError("--set", "must look like plan.tp=4", got=text)
    return path.strip(), parse_yaml(value, f"--set {path}")


def write_text(path: Path, text: str) -> None:
    """Write a result; errors as ``write_bytes``."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a result.

    Raises:
        ConfigError: It cannot be written there.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
