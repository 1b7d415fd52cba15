"""Classes of a stage's NPUs by what they have done so far.

NPUs at unlike places in their groups may end all of their collectives at the same times: those on
the two sides of a tree, say. As long as they do, they have one history, and one of them is followed
for all. They part where members of one history are about to end a collective at different times,
or where some of them know when they end and others still wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcore.engines.classes.places import NpuClasses, distinct_rows
from simcore.engines.events.input import Ints
from simcore.workload.graph import Axis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Patterns:
    """Groups of one axis as the histories of their members: P that differ, of G members.

    Attributes:
        histories: (P, G) int64, of the members of each, in the order of their NPU ids.
        of_row: (R,) int64, pattern of each group of classes.
    """

    histories: Ints
    of_row: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Histories:
    """H histories of the K classes of a stage's members, the same at every stage.

    Attributes:
        classes: The classes.
        of_class: (K,) int64, numbered by their first classes.
    """

    classes: NpuClasses
    of_class: Ints
    _patterns: dict[Axis, Patterns] = field(default_factory=dict)

    @classmethod
    def told_apart(cls, classes: NpuClasses, *keys: Ints) -> "Histories":
        """Histories of classes for which all of *keys*, (K,) int64 each, are equal."""
        _, first, number = np.unique(np.stack(keys), axis=1, return_index=True, return_inverse=True)
        rank = np.empty(first.size, np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return cls(classes=classes, of_class=rank[number.ravel()])

    @cached_property
    def count(self) -> int:
        """H."""
        return int(self.of_class.max()) + 1

    @cached_property
    def firsts(self) -> Ints:
        """(H,) int64, the first class of each."""
        firsts: Ints = np.unique(self.of_class, return_index=True)[1]
        return firsts

    @property
    def of_member(self) -> Ints:
        """(M,) int64, history of each member."""
        found: Ints = self.of_class[self.classes.class_of]
        return found

    def share(self, values: Ints) -> bool:
        """True if classes of one history have one value: of *values*, (K,) int64."""
        return bool((values == values[self.firsts][self.of_class]).all())

    def among(self, finer: NpuClasses) -> "Histories":
        """Histories of *finer* classes, equal to those of the classes that they were part of."""
        return Histories(classes=finer, of_class=self.of_member[finer.firsts])

    def patterns(self, axis: Axis) -> Patterns:
        """Groups of an axis that tells classes apart."""
        if axis not in self._patterns:
            rows = self.of_class[self.classes.groups[axis].classes]
            histories, of_row = distinct_rows(rows)
            self._patterns[axis] = Patterns(histories=histories, of_row=of_row)
        return self._patterns[axis]

    def parted(self, axis: Axis, begun: Sequence[int]) -> "Histories":
        """Histories of which all groups of *axis* have begun, or else none.

        Args:
            axis: The axis.
            begun: Histories that have begun a collective of it.
        """
        has_begun = np.zeros(self.count, np.bool_)
        has_begun[list(begun)] = True
        whole: NDArray[np.bool_] = np.all(has_begun[self.patterns(axis).histories], axis=1)
        knows = whole[self.patterns(axis).of_row[self.classes.groups[axis].row_of]]
        return Histories.told_apart(self.classes, self.of_class, knows.astype(np.int64))

    def met(self, axis: Axis) -> list[list[tuple[int, ...]]]:
        """Histories that meet in groups: those of each group that differs, by what is connected.

        Groups in one list have histories in common, directly or through others; no group in
        another list has any of these.
        """
        sets = {tuple(np.unique(row).tolist()) for row in self.patterns(axis).histories}
        lowest = np.arange(self.count)
        for one in sets:
            joined = np.unique(lowest[list(one)])
            lowest[np.isin(lowest, joined)] = joined[0]
        found: dict[int, list[tuple[int, ...]]] = {}
        for one in sorted(sets):
            found.setdefault(int(lowest[one[0]]), []).append(one)
        return [found[number] for number in sorted(found)]
