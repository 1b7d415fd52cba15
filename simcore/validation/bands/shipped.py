"""The shipped tables of residuals with their constants."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from simcore.files.input_file import files_kept
from simcore.files.resources import shipped_folder
from simcore.files.yaml_file import read_table
from simcore.schema import Schema
from simcore.units import plain_sum
from simcore.validation.bands.networks import Networks
from simcore.validation.bands.residuals import Chain, Group, read_groups
from simcore.validation.bands.spread import Constants, Spread, Spreads
from simcore.validation.bands.width import Place, Widths

FOLDER = "validation"
CONSTANTS = "bands.yaml"


class Likeness(Schema):
    """Likeness of scaled residuals of runs of one site; see ``calibrated/posterior.py``.

    Attributes:
        variance: Of residuals over how far bands reach.
        shared: Part of it that equal runs share; the rest each has for itself.
        reach: What must lie between runs, by the coordinates of ``calibrated/place.py``, for the
            part shared to fall by a factor of e.
        believed: Part of the fall of variance that normal residuals would promise, which a band
            narrows by.
        source: Where the values are from.
    """

    variance: float
    shared: float
    reach: float
    believed: float = 1.0
    source: str = ""


class BandConstants(Schema):
    """Content of ``bands.yaml``.

    Attributes:
        training, serving: Of the bands of a chain.
        site, served_site: What a site's training runs share, and its load tests.
    """

    name: str = ""
    training: Constants
    serving: Constants
    site: Likeness
    served_site: Likeness

    def of(self, chain: Chain) -> Constants:
        """Constants of one chain."""
        return self.training if chain.name == "training" else self.serving


@dataclass(frozen=True, eq=False)
class Judged:
    """A table of residuals with the constants that were fitted to it.

    Attributes:
        spreads: The table.
        constants: Of its chain.
        networks: Of the runs in the table; None: the chain does not ask for them.
    """

    spreads: Spreads
    constants: Constants
    networks: Networks | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_spread", cache(self.spreads.at))
        object.__setattr__(self, "_width", cache(Widths(self.spreads, self.constants).at))
        object.__setattr__(self, "_known", cache(self._values_of))

    @classmethod
    def read(cls, chain: Chain, folder: Path) -> Self:
        """The table of a chain in *folder*, with its constants and networks.

        Raises:
            ConfigError: A file is missing or not valid.
        """
        spreads = Spreads(chain, read_groups(folder / chain.file, chain))
        networks = Networks.read(folder / chain.networks) if chain.networks else None
        return cls(spreads, read_constants(folder).of(chain), networks)

    def spread(self, levels: tuple[str, ...]) -> Spread:
        """The class around *levels* that has rows; each is worked out once."""
        found: Spread = self._spread(levels)  # type: ignore[attr-defined]
        return found

    def width(self, levels: tuple[str, ...], place: Place) -> float:
        """Reach of a band to each side, on the logarithm of the time."""
        found: float = self._width(levels, place)  # type: ignore[attr-defined]
        return found

    def known(self, level: str) -> frozenset[str]:
        """Values of a level that have rows."""
        found: frozenset[str] = self._known(level)  # type: ignore[attr-defined]
        return found

    def _values_of(self, level: str) -> frozenset[str]:
        at = self.spreads.chain.levels.index(level)
        return frozenset(group.levels[at] for group in self.spreads.groups)

    def rows(self, level: str, value: str) -> int:
        """Rows with this value of a level."""
        at = self.spreads.chain.levels.index(level)
        return sum(len(g.residuals) for g in self.spreads.groups if g.levels[at] == value)

    def nearest(self, spread: Spread, place: tuple[float, float]) -> Group:
        """The group behind *spread* that is nearest to a model and a machine size."""
        groups: list[Group] = [self.spreads.groups[int(at)] for at in spread.groups]
        return min(
            groups, key=lambda g: plain_sum(abs(a - b) for a, b in zip(g.place, place, strict=True))
        )


def read_constants(folder: Path) -> BandConstants:
    """The constants in *folder*.

    Raises:
        ConfigError: The file is missing or not valid.
    """
    path = folder / CONSTANTS
    return BandConstants.from_file_data(read_table(path), at=str(path))


@cache
def shipped(chain: Chain) -> Judged:
    """The table of a chain that came with this installation; no file that a study names."""
    with files_kept({}):
        return Judged.read(chain, shipped_folder("configs") / FOLDER)


@cache
def shipped_constants() -> BandConstants:
    """The constants that came with this installation; no file that a study names."""
    with files_kept({}):
        return read_constants(shipped_folder("configs") / FOLDER)
