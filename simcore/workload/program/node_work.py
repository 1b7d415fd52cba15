"""Work of the nodes of sections, apart from all else that tells the sections.

Sections of two plans are alike if they have the same form. Then what the nodes of one plan do
stands in the place of what those of the other do.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

from simcore.memo import Key, Memo
from simcore.workload.program.work import Entry


@dataclass(frozen=True, slots=True, eq=False)
class NodeWork:
    """Work of the nodes of some sections.

    Attributes:
        form: Of the sections: all but what their entries amount to. Equal ones are one object.
        entries: Each once, in order of appearance.
        among: The same, to look one up.
    """

    form: Key
    entries: tuple[Entry, ...]
    among: frozenset[Entry]

    @classmethod
    def of(cls, sections: Hashable, entries: Sequence[Entry], memo: Memo) -> Self:
        """Work of nodes that do *entries*, one after the other.

        Args:
            sections: All but the entries.
            entries: As often as they appear.
            memo: Which knows equal forms.
        """
        number: dict[Entry, int] = {}
        places = tuple([number.setdefault(entry, len(number)) for entry in entries])
        form = Key(sections, places)
        each = tuple(number)
        return cls(memo.of("forms of sections", form, lambda: form), each, frozenset(each))

    def joint(self, later: "NodeWork") -> tuple[tuple[int, int], ...]:
        """Entries that *later* sections have too: place of each here and there."""
        if self.among.isdisjoint(later.among):
            return ()
        number = {entry: at for at, entry in enumerate(self.entries)}
        pairs = [(number.get(entry), at) for at, entry in enumerate(later.entries)]
        return tuple([(here, there) for here, there in pairs if here is not None])
