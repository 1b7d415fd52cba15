"""Writes tables of residuals, and the constants that are fitted to them."""

from collections.abc import Iterable, Sequence
from math import log
from pathlib import Path

import yaml

from simcore.config import Run
from simcore.errors import ConfigError
from simcore.files.yaml_file import FILE_VERSION
from simcore.validation.bands.classes import TRAINING, levels_of
from simcore.validation.bands.fit import fitted
from simcore.validation.bands.networks import Networks
from simcore.validation.bands.residuals import Chain, Group, grouped, write_groups
from simcore.validation.bands.shipped import (
    CONSTANTS,
    FOLDER,
    BandConstants,
    read_constants,
    shipped_constants,
)
from simcore.validation.bands.spread import Constants
from simcore.validation.score import Compared


def training_groups(compared: Iterable[tuple[Compared, Run]]) -> list[Group]:
    """Groups of predicted rows, each with its run."""
    return grouped(
        Group(
            levels=levels_of(run),
            source=one.row.text("source"),
            model=one.row.text("model"),
            parameters=run.workload.model.parameters,
            npus=run.platform.npus,
            residuals=(-log(1 + one.error),),
        )
        for one, run in compared
    )


def write_training_table(configs: Path, runs: Sequence[tuple[Compared, Run]]) -> list[Path]:
    """Write residuals and networks of training runs, and all constants, theirs fitted anew.

    Returns:
        What was written.

    Raises:
        ConfigError: A file cannot be written, or the constants that stay cannot be read.
    """
    folder, groups = configs / FOLDER, training_groups(runs)
    there = read_constants(folder) if (folder / CONSTANTS).is_file() else shipped_constants()
    constants = there.model_copy(update={"training": constants_of(TRAINING, groups)})
    write_groups(folder / TRAINING.file, TRAINING, groups)
    return [
        folder / TRAINING.file,
        networks_of(runs).write(folder / TRAINING.networks),
        write_constants(folder, constants),
    ]


def networks_of(runs: Iterable[tuple[Compared, Run]]) -> Networks:
    """Networks of predicted rows, each with its run."""
    return Networks.of(run.platform for _, run in runs)


def constants_of(chain: Chain, groups: Sequence[Group]) -> Constants:
    """Constants of a chain with their provenance."""
    rows = sum(len(group.residuals) for group in groups)
    sources = len({group.source for group in groups})
    return fitted(chain, groups).model_copy(
        update={
            "source": f"fitted by simcore/validation/bands/fit.py to {rows} rows of {sources} "
            f"sources in {chain.file}"
        }
    )


def write_constants(folder: Path, constants: BandConstants) -> Path:
    """Write the constants of all chains.

    Raises:
        ConfigError: The file cannot be written.
    """
    path = folder / CONSTANTS
    content = {"version": FILE_VERSION, **constants.model_dump(mode="json", exclude={"name"})}
    text = "# Constants of error bands; written by `python benchmarks/bands.py write`.\n"
    text += yaml.safe_dump(content, sort_keys=False, width=96)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
    return path
