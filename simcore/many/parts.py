"""The parts of the runs of many designs, each once, and which of them each design has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from simcore.bounds.design_columns import Codes, ColumnSet
from simcore.bounds.grown import Grown
from simcore.config import Run, RunTemplate
from simcore.errors import ConfigError
from simcore.machine import Dimension, Npu
from simcore.machine.native import NATIVE, is_native
from simcore.machine.system import System
from simcore.workload import ParallelPlan, Workload

Ints = NDArray[np.int64]

_SPEEDS = "npu_scale"

UNKNOWN = -1
"""Number of a part that a run file refuses, at least with the file's own values beside it."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Listed(Generic[T]):
    """Distinct things, a few, in the order in which they were first met."""

    things: list[T] = field(default_factory=list)

    def number(self, thing: T) -> int:
        """Number of *thing*."""
        if thing not in self.things:
            self.things.append(thing)
        return self.things.index(thing)


@dataclass(slots=True, eq=False)
class Numbered(Generic[T]):
    """Distinct things that can be hashed, in the order in which they were first met."""

    numbers: dict[T, int] = field(default_factory=dict)
    things: list[T] = field(default_factory=list)

    def number(self, thing: T) -> int:
        """Number of *thing*."""
        found = self.numbers.setdefault(thing, len(self.things))
        if found == len(self.things):
            self.things.append(thing)
        return found


class Facts(Generic[T]):
    """Facts about things of a list that grows, as rows of an array: each is worked out once.

    Args:
        of: The fact about a thing.
        dtype: Of a fact, or of its numbers.
        shape: Of the numbers of a fact; (): it is one value.
    """

    def __init__(
        self, of: Callable[[T], Any], dtype: DTypeLike, shape: tuple[int, ...] = ()
    ) -> None:
        self._of, self._rows = of, Grown(dtype, shape)

    def about(self, things: Sequence[T]) -> NDArray[Any]:
        """A row for each of *things*; those known before keep their places."""
        self._learn(things)
        return self._rows.array()

    def about_and(self, things: Sequence[T], last: Any) -> NDArray[Any]:
        """``about``, and a *last* row for what is not known."""
        self._learn(things)
        return self._rows.array_and(last)

    def _learn(self, things: Sequence[T]) -> None:
        if len(things) > len(self._rows):
            self._rows.extend([self._of(thing) for thing in things[len(self._rows) :]])


class _Columns(ColumnSet):
    """Columns that a part depends on; a part that is refused has the number ``UNKNOWN``."""

    def _row(self, key: int) -> int:
        try:
            return ColumnSet._row(self, key)
        except ConfigError:
            return UNKNOWN


def distinct_pairs(one: Ints, other: Ints) -> tuple[list[tuple[int, int]], Ints, Ints]:
    """Pairs of numbers from 0 on, each once, with where it is first, and which each row has."""
    width = int(other.max(initial=0)) + 1
    keys, first, which = np.unique(one * width + other, return_index=True, return_inverse=True)
    return [divmod(key, width) for key in keys.tolist()], first, which


Work = tuple[Workload, ParallelPlan]
"""Workload and plan."""

Accelerator = tuple[Npu, str, str]
"""An accelerator, the compute model of a workload on it, and the network backend."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartRows:
    """Numbers of the parts of N designs: work, accelerator, system layer, and (N, D) dimensions."""

    work: Ints
    accelerator: Ints
    system: Ints
    dimensions: Ints

    def of(self, rows: Ints) -> "PartRows":
        """Parts of some of the designs."""
        return PartRows(
            work=self.work[rows],
            accelerator=self.accelerator[rows],
            system=self.system[rows],
            dimensions=self.dimensions[rows],
        )

    @property
    def are_known(self) -> NDArray[np.bool_]:
        """(N,) bool: no part was refused."""
        least = np.minimum(np.minimum(self.work, self.accelerator), self.system)
        known: NDArray[np.bool_] = np.minimum(least, self.dimensions.min(axis=1)) >= 0
        return known


class Parts:
    """Parts of the runs that a template and values for its paths mean.

    A part depends on few of the paths, so that it is read once per combination of their values.

    Args:
        template: The run file.
        choices: By path, the values that designs choose from.
        share: Part of every link's bandwidth that can be used.
    """

    def __init__(
        self, template: RunTemplate, choices: Mapping[str, Sequence[Any]], share: float = 1.0
    ) -> None:
        self.work: Numbered[Work] = Numbered()
        self.accelerators: Listed[Accelerator] = Listed()
        self.systems: Numbered[System] = Numbered()
        self.dimensions: Numbered[Dimension] = Numbered()
        listed = {path: tuple(values) for path, values in choices.items()}
        # which dimensions there are may hang on all of the platform
        count = _count(template, listed)

        def part(build: Callable[[Run], int], *roots: str) -> _Columns:
            return _Columns(template=template, choices=listed, roots=roots, build=build)

        self._work = part(
            lambda run: self.work.number((run.workload, run.plan)), "stack", "workload", "plan"
        )
        self._accelerator = part(
            lambda run: self.accelerators.number((run.platform.npu, run.compute, run.backend)),
            "stack", "workload", "platform.npu", "compute", "backend",
        )  # fmt: skip
        self._system = _Columns(
            template=template,
            choices=listed,
            roots=("system",),
            build=self.systems.number,
            read=template.system_with_values,
        )
        self._dimensions = [
            part(_dimension_of(self.dimensions, d, share), f"platform.dimensions[{d}]")
            for d in range(count)
        ]

    @property
    def count(self) -> int:
        """Dimensions; 0 where they are no parts of their own, and designs are read as a whole."""
        return len(self._dimensions)

    def rows(self, codes: Codes, block: slice) -> PartRows:
        """Parts of the designs in *block*; *codes*: positions in the choices by path, or -1."""
        size = block.stop - block.start

        def column(part: _Columns) -> Ints:
            return np.broadcast_to(np.asarray(part.rows(codes, block), np.int64), (size,))

        return PartRows(
            work=column(self._work),
            accelerator=column(self._accelerator),
            system=column(self._system),
            dimensions=np.stack([column(part) for part in self._dimensions], axis=1),
        )


def _dimension_of(known: Numbered[Dimension], d: int, share: float) -> Callable[[Run], int]:
    return lambda run: known.number(run.platform.with_share(share).dimensions[d])


def _count(template: RunTemplate, choices: Mapping[str, tuple[Any, ...]]) -> int:
    """Dimensions that can be read one by one.

    0 where a path leads beside them, links of the accelerator are among them, or NPUs are of unlike
    speed.
    """
    platform = template.table["platform"]
    listed = platform.get("dimensions")
    if platform.get(_SPEEDS) or any(path.endswith(_SPEEDS) for path in choices):
        return 0
    if "npu" not in platform or not isinstance(listed, list | tuple):
        return 0
    own = tuple(f"platform.dimensions[{d}]" for d in range(len(listed)))
    inner = [path for path in choices if path.startswith("platform")]
    if not all(path.startswith((*own, "platform.npu")) for path in inner):
        return 0
    native = any(NATIVE in choices[path] for path in inner)
    return 0 if native or any(map(is_native, listed)) else len(listed)
