"""Facts of plans that processes hand on to each other, the same wherever they are worked out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simcore.bounds.design_columns import ColumnSet
from simcore.memo import FactBook

Facts = Mapping[tuple[str, int], bytes]
"""Packed facts by part and by number of a combination of choices."""


@dataclass(slots=True, eq=False)
class FactSet(ColumnSet):
    """A part of the run whose rows follow from facts, which another process may know already.

    ``build`` gives a fact, which depends on nothing but the choices of the columns.

    Attributes:
        keep: Makes row n of the part's table from a fact; gives n, or a negative number.
    """

    keep: Callable[[Any], int] = int
    _book: FactBook[int] = field(default_factory=FactBook)

    def worked_out(self) -> dict[int, bytes]:
        """Facts that were worked out here since this was last asked; before the first time none."""
        return self._book.worked_out()

    def take(self, facts: Mapping[int, bytes]) -> None:
        """Take facts that another process has worked out, as far as they are not known here."""
        self._book.take({key: fact for key, fact in facts.items() if key not in self._known})

    def _made(self, key: int) -> int:
        return self.keep(self._book.fact(key, lambda: self._built(key)))
