"""Ranks where a list says, as a rank file of MPI does."""

from pathlib import Path

import numpy as np

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.files.yaml_file import read_yaml
from simcore.placement.base import Ints, PlacementOptions, PlacementRule, Ranks


class ListedOptions(PlacementOptions):
    """Options of a given placement.

    Attributes:
        npus: NPU of each rank.
        file: A YAML or JSON file that holds that list, in its place.
    """

    npus: tuple[int, ...] = ()
    file: str = ""


class Listed(PlacementRule):
    """Rank i on the NPU that stands at place i of a list."""

    options = ListedOptions

    def place(self, ranks: Ranks, options: ListedOptions) -> Ints:
        if bool(options.npus) == bool(options.file):
            rule = "must list the NPU of each rank, or name a file that does"
            raise ConfigError("placement.npus", rule, got=options.npus or None)
        if not options.file:
            return np.array(options.npus, np.int64)
        path = Path(options.file)
        given = read_json(path) if path.suffix == ".json" else read_yaml(path)
        if isinstance(given, dict):
            given = given.get("npus")
        whole = isinstance(given, list) and all(type(npu) is int for npu in given)
        if not isinstance(given, list) or not whole:
            rule = "must hold the NPU of each rank: a list of whole numbers, or one under npus"
            raise ConfigError(str(path), rule, got=given)
        return np.array(np.clip(given, -1, 1 << 40), np.int64)
