"""Names in a run file, replaced by the tables of the files that they mean."""

from pathlib import Path
from typing import Any

from simcore.config.paths import Steps
from simcore.errors import ConfigError
from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.graphs.network_table import network_table
from simcore.machine import Npu, Platform, load_npu, load_platform
from simcore.machine.graph_dimensions import with_networks
from simcore.machine.kernel_folder import with_folder
from simcore.schema import Schema
from simcore.workload.load import net_table

PLATFORM: Steps = ("platform",)
NPU: Steps = ("platform", "npu")
MODEL: Steps = ("workload", "model")
NETWORK: Steps = ("platform", "network")
NAMED = frozenset({PLATFORM, NPU, MODEL, NETWORK})
"""Places that take names of files."""


def resolved(place: Steps, value: object) -> object:
    """*value*, or the table of the file that it names where *place* takes names.

    Raises:
        ConfigError: No such file, or it is not valid.
    """
    if place == PLATFORM:
        return platform_table(value, None)
    if place == NPU:
        return npu_table(value, None)
    if place == NETWORK:
        return network_table(value, at="platform.network")
    if place == MODEL:
        return model_table(value, None)
    return value


def platform_table(given: object, beside: Path | None) -> dict[str, Any]:
    """The platform as a table with file keys, its accelerator checked and built."""
    if isinstance(given, Platform):
        return {**given.__dict__}
    if isinstance(given, str):
        path = find_config("platforms", given, at="platform", beside=beside)
        load_platform(given, beside=beside)  # a broken file is told as such, with its own name
        table = read_table(path)
        beside = path.parent
    elif isinstance(given, dict):
        table = dict(given)
    else:
        raise ConfigError("platform", "must be a name, a .yaml file or a table", got=given)
    if "npu" in table:
        table["npu"] = npu_table(table["npu"], beside)
    return with_networks(table, at="platform.", beside=beside)


def npu_table(given: object, beside: Path | None) -> object:
    """The accelerator, or its table."""
    if isinstance(given, Npu):
        return given
    if isinstance(given, dict):
        return with_folder(given, at="platform.npu", beside=beside)
    load_npu(given, at="platform.npu", beside=beside)
    path = find_config("npus", str(given), at="platform.npu", beside=beside)
    return with_folder(read_table(path), at=f"{path}: ", beside=path.parent)


def model_table(given: object, beside: Path | None) -> object:
    """The model, or its table."""
    if not isinstance(given, Schema | dict | str):
        rule = "must be a name, a .yaml file, a config.json of Hugging Face or a table"
        raise ConfigError("workload.model", rule, got=given)
    return net_table(given, at="workload.model", beside=beside)
