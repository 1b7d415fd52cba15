"""Networks that measured runs had: what joined their NPUs, and how fast.

A prediction on another kind of network, or on one far faster or slower, is none that anybody has
held against a run, however well the accelerator is known.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from simcore.errors import ConfigError
from simcore.machine import Platform, scale_up_dimensions
from simcore.validation.bands.residuals import read_rows, write_rows

FILE = "networks.csv"
"""Table of networks, below ``configs/validation``."""
FAR = 2.0
"""Factor from the measured bandwidths up to which a network counts as one of them: data sheets and
what their links reach lie up to 1.25 apart (``configs/fabrics``), generations of cards 2."""

_COLUMNS = ("npu", "side", "topology", "least_gb_per_s", "most_gb_per_s", "runs")
_GB = 1e9
_INSIDE, _BEYOND = "inside", "beyond"


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A network dimension as far as measured runs can be likened by it.

    Attributes:
        side: ``inside`` a scale-up domain, or ``beyond`` it.
        topology: What joins the NPUs.
        bytes_per_s: Bandwidth that messages of one NPU get, one direction.
        oversubscription: Of its switches.
    """

    side: str
    topology: str
    bytes_per_s: float
    oversubscription: float = 1.0


def joints_of(platform: Platform) -> Iterator[Joint]:
    """The dimensions of a platform."""
    inner = scale_up_dimensions(platform)
    for at, one in enumerate(platform.dimensions):
        yield Joint(
            side=_INSIDE if at < inner else _BEYOND,
            topology=one.topology,
            bytes_per_s=one.usable_bandwidth_bytes_per_s,
            oversubscription=one.oversubscription,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Dimensions of measured runs on one accelerator, all of one side and topology.

    Attributes:
        npu: The accelerator.
        side, topology: As of ``Joint``.
        least_bytes_per_s, most_bytes_per_s: Their bandwidths.
        runs: That had such a dimension.
    """

    npu: str
    side: str
    topology: str
    least_bytes_per_s: float
    most_bytes_per_s: float
    runs: int


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks of measured runs."""

    measured: tuple[Measured, ...]

    @classmethod
    def of(cls, platforms: Iterable[Platform]) -> Self:
        """The networks of *platforms*, one of each measured run."""
        rates: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        runs: Counter[tuple[str, str, str]] = Counter()
        for platform in platforms:
            own: set[tuple[str, str, str]] = set()
            for one in joints_of(platform):
                key = platform.npu.name, one.side, one.topology
                rates[key].append(one.bytes_per_s)
                own.add(key)
            runs.update(own)
        return cls(
            tuple(
                Measured(
                    npu=key[0],
                    side=key[1],
                    topology=key[2],
                    least_bytes_per_s=min(found),
                    most_bytes_per_s=max(found),
                    runs=runs[key],
                )
                for key, found in sorted(rates.items())
            )
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """The table at *path*.

        Raises:
            ConfigError: A column is missing, or a cell holds no number where one is due.
        """
        return cls(tuple(_row(cells, at) for at, cells in read_rows(path, _COLUMNS)))

    def write(self, path: Path) -> Path:
        """Write the table.

        Raises:
            ConfigError: *path* cannot be written.
        """
        rows = []
        for one in self.measured:
            least, most = one.least_bytes_per_s / _GB, one.most_bytes_per_s / _GB
            rows.append((one.npu, one.side, one.topology, f"{least:.4g}", f"{most:.4g}", one.runs))
        write_rows(path, _COLUMNS, rows)
        return path

    def lacking(self, platform: Platform, npu: str) -> str:
        """Part of the network of *platform* that no run measured on *npu* had, in words; or empty.

        Where no run on *npu* left its scale-up domain, or stayed in it, runs on others speak.
        """
        return self.lacking_of(joints_of(platform), npu)

    def lacking_of(self, joints: Iterable[Joint], npu: str) -> str:
        """``lacking`` of a platform with *joints*."""
        for joint in joints:
            of_side = [one for one in self.measured if one.side == joint.side]
            own = [one for one in of_side if one.npu == npu] or of_side
            if lacks := _lacking(joint, own):
                return f"no measured run on {npu} had {lacks}"
        return ""


def _lacking(joint: Joint, measured: Sequence[Measured]) -> str:
    alike = [one for one in measured if one.topology == joint.topology]
    where = f"{joint.side} its scale-up domain"
    if not alike:
        return f"the topology {joint.topology} {where}"
    least = min(one.least_bytes_per_s for one in alike)
    most = max(one.most_bytes_per_s for one in alike)
    if least / FAR <= joint.bytes_per_s <= most * FAR:
        return ""
    asked, least, most = joint.bytes_per_s / _GB, least / _GB, most / _GB
    range_of = f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"
    over = f", {joint.oversubscription:g} times oversubscribed," * (joint.oversubscription > 1)
    return f"{asked:.3g} GB/s{over} {where}, far from the {range_of} GB/s measured"


def _row(cells: dict[str, str], at: str) -> Measured:
    try:
        least, most = float(cells["least_gb_per_s"]), float(cells["most_gb_per_s"])
        runs = int(cells["runs"])
    except (TypeError, ValueError):
        raise ConfigError(at, "must hold bandwidths and a number of runs", got=cells) from None
    if not 0 < least <= most or runs < 1 or cells["side"] not in (_INSIDE, _BEYOND):
        raise ConfigError(at, "must hold a side, bandwidths in order and runs", got=cells)
    return Measured(
        npu=cells["npu"],
        side=cells["side"],
        topology=cells["topology"],
        least_bytes_per_s=least * _GB,
        most_bytes_per_s=most * _GB,
        runs=runs,
    )
