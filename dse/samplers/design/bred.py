"""Designs that are bred for one lesson, and what is hoped and doubted of them."""

import numpy as np

from dse.samplers.design.columns.genomes import Floats, Genomes
from dse.samplers.design.model.judge import Judge


class Bred:
    """Designs with the verdicts of a judge, which grow together.

    Attributes:
        genomes: The designs, each once.
        bold: (N, M) what they promise if nothing is refused and no limit broken; None: not known.
        doubts: (N, 1) what is added since they may be refused or break a limit; None: none may.
    """

    def __init__(self, judge: Judge, genomes: Genomes) -> None:
        self._judge, self.genomes = judge, genomes
        self.bold, self.doubts = judge.hopes(genomes), judge.doubts(genomes)

    @property
    def promise(self) -> Floats | None:
        """(N, M) what the designs promise, all told; None: not known."""
        return self.bold if self.bold is None or self.doubts is None else self.bold + self.doubts

    def add(self, found: Genomes) -> None:
        """Judge those of *found* that are new too; *found* differ, and hopes are known."""
        found = found.without(self.genomes)
        if not len(found):
            return
        self.genomes = Genomes.joined([self.genomes, found])
        self.bold = _longer(self.bold, self._judge.hopes(found))
        self.doubts = _longer(self.doubts, self._judge.doubts(found))


def _longer(known: Floats | None, more: Floats | None) -> Floats | None:
    """*known* and, behind it, *more*: within a lesson both are known or neither is."""
    assert (known is None) == (more is None), "what was known of the others is known of these"
    return None if known is None or more is None else np.concatenate([known, more])
