"""Answers about a study, checked before a file is written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dse.costs import load_prices
from dse.objectives import OBJECTIVES
from simcore import (
    Catalogue,
    ConfigError,
    Model,
    Npu,
    Platform,
    did_you_mean,
    load_model,
    load_npu,
    load_platform,
    shipped_names,
)

MAX_NPUS = 1 << 20
TOKENS_PER_ITERATION = 4_000_000
"""Tokens of the batch that is taken where none is given: about that of GPT-3 175B, 3.2 million (T.
Brown et al., arXiv:2005.14165, table 2.1)."""

TRAINING = ("iteration_time", "capital_cost", "usd_per_token", "energy_per_token", "power", "mfu")
"""Objectives of training that a file from a few answers may have."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answers from which a study file is written.

    Attributes:
        model: Name of a shipped model, or the path of a ``.yaml`` file or a ``config.json``.
        machines: Accelerators (names or files), of which one is to be chosen; or one platform.
        npus: How many; 0: those of the platform.
        objectives: Names of objectives; none: time, and cost where there is a choice of machines.
        sequence: Tokens of a sequence.
        global_batch: Sequences of an iteration; 0: as many as make some 4 million tokens.
        bandwidth: Of an NPU to other servers; empty: that of the cards in servers as sold.
        folder: Where the file will lie: paths in it are taken from there.
    """

    model: str
    machines: tuple[str, ...]
    npus: int = 0
    objectives: tuple[str, ...] = ()
    sequence: int = 4096
    global_batch: int = 0
    bandwidth: str = ""
    folder: Path = field(default_factory=Path)

    def net(self) -> Model:
        """The model that is named.

        Raises:
            ConfigError: There is no such model, or a part of it is not modelled.
        """
        return load_model(self.model, at="--model")

    def platform(self) -> Platform | None:
        """The platform, if one is named in the place of accelerators.

        Raises:
            ConfigError: It is named beside others, or has another number of NPUs.
        """
        named = [one for one in self.machines if one in shipped_names("platforms")]
        if not named or named[0] in shipped_names("npus"):
            return None
        if len(self.machines) > 1:
            rule = "must name one platform, or accelerators"
            raise ConfigError("--machine", rule, got=", ".join(self.machines))
        found = load_platform(named[0], at="--machine")
        if self.npus not in (0, found.npus):
            rule = f"must be the {found.npus} of {named[0]}, or left out"
            raise ConfigError("--npus", rule, got=self.npus)
        return found

    def accelerators(self) -> list[Npu]:
        """The accelerators that are named.

        Raises:
            ConfigError: There is none of that name.
        """
        known = shipped_names("npus")
        for name in self.machines:
            if name not in known and not name.endswith((".yaml", ".yml")):
                both = [*known, *shipped_names("platforms")]
                rule = f"must be a .yaml file, one of the accelerators {', '.join(known)}, or a"
                rule += f" shipped platform{did_you_mean(name, both)}"
                raise ConfigError("--machine", rule, got=name)
        return [load_npu(name, at="--machine") for name in self.machines]

    def told(self, path: str) -> str:
        """A name as it is, a path as seen from the study's folder."""
        if not path.endswith((".yaml", ".yml", ".json")):
            return path
        return os.path.relpath(Path(path).resolve(), self.folder.resolve())


def check_objectives(names: Sequence[str]) -> None:
    """See that these are objectives of training.

    Raises:
        ConfigError: One is not.
    """
    for name in names:
        if name not in TRAINING or name not in OBJECTIVES:
            rule = f"must be one of {', '.join(TRAINING)}{did_you_mean(name, TRAINING)}"
            raise ConfigError("--objective", rule, got=name)


def unpriced(npus: Sequence[Npu]) -> list[str]:
    """Names of accelerators without a price of their own, or without a server that holds them."""
    book = load_prices("default")
    parts = Catalogue(book.parts)
    sold = {name for _, part in parts.of_kind("server") for name in part.accelerators}
    priced = {one.name for one in npus if one.price_usd is not None}
    priced |= {one.name for one in npus if one.name in book.accelerators}
    return [one.name for one in npus if one.name not in priced & sold]
