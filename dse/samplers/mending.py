"""Puts a design that is of use in place of one that a sampler proposed and that is of none."""

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import numpy as np

from dse.samplers.design import Genome, Genomes, GenomeSpace, Hopes
from dse.samplers.design.screen import Screen
from dse.samplers.nearest_designs import NearestDesigns
from dse.space import Design

_NEAR, _LOT, _LOTS = 12, 256, 20
"""Lots of designs near the one that was meant which are looked at, size of a lot of drawn ones, and
how many of these are: what is beaten has hundreds of beaten neighbours, and a few draws help."""

IsGood = Callable[[Design], bool]


class Wants(NamedTuple):
    """Demands on a design.

    Attributes:
        admitted: Whether it must keep the rules that are known beforehand.
        hopeful: Whether it must not be beaten by what is known.
    """

    admitted: bool
    hopeful: bool


USE = (Wants(True, True), Wants(True, False), Wants(False, False))
"""A design that is of use, one that may be feasible, and any."""


class Mender:
    """Finds the design of use that is nearest to one that was meant.

    Those that differ from it in one block of knobs or two are looked at first. If none of them is
    of use, designs are drawn; the nearest one of use takes back, block by block, what it can of the
    one that was meant.

    Attributes:
        told: Outcomes that are known.
    """

    def __init__(
        self,
        space: GenomeSpace,
        admits: Screen,
        is_hopeful: IsGood,
        hopes: Hopes | None,
        seed: int,
    ) -> None:
        """*admits*: rules known beforehand; *is_hopeful*, *hopes*: as of ``ProposerInput``."""
        self._space, self._admits = space, admits
        self._is_hopeful, self._hopes = is_hopeful, hopes
        self._near = NearestDesigns(space)
        self._rng = np.random.default_rng([seed, 2])  # apart from the streams of the sampler
        self._known = set[int]()  # keys of designs that were not new when they were asked about
        self.told = 0

    def mended(self, meant: Design, is_new: IsGood, wants: Wants) -> Design | None:
        """A new design in place of *meant* that is as *wants* says; None: none has been found."""
        genome = self._space.genome(meant)
        assert genome is not None, "proposals are designs of the space"
        for lot in islice(self._near.lots(genome), _NEAR):
            found = self._first(lot, is_new, wants)
            if found is not None:
                return self._space.design(found)
        for _ in range(_LOTS):
            drawn = self._space.settle(self._space.draw_many(_LOT, self._rng)).distinct()
            order = np.argsort((drawn.codes != np.array(genome.codes)).sum(axis=1), kind="stable")
            found = self._first(drawn.at(order), is_new, wants)
            if found is not None:
                return self._space.design(self._nearer(found, genome, is_new, wants))
        return None

    def _nearer(self, found: Genome, meant: Genome, is_new: IsGood, wants: Wants) -> Genome:
        """*found*, with each block of *meant* that leaves it of use."""
        for number, span in enumerate(self._space.spans):
            own, other = found.codes, meant.codes[span.first : span.end]
            codes = (*own[: span.first], *other, *own[span.end :])
            if codes != own and self._space.holds(number, found.dimensions, codes):
                nearer = Genomes.of([found._replace(codes=codes)])
                found = self._first(nearer, is_new, wants) or found
        return found

    def _first(self, lot: Genomes, is_new: IsGood, wants: Wants) -> Genome | None:
        """The first design of a lot that is of use; what is dear is asked of few."""
        able = self._unknown(lot)
        if wants.admitted and len(able):
            able = able.at(self._admits(able))
        if wants.hopeful and self._hopes is not None and len(able):
            able = able.at(self._hopes.are_left(self._hopes.of(able, self.told)))
        if not len(able):
            return None
        for genome, key in zip(able.each(), able.keys().tolist(), strict=True):
            design = self._space.design(genome)
            if not is_new(design):
                self._known.add(key)
            elif not wants.hopeful or self._is_hopeful(design):
                return genome
        return None

    def _unknown(self, lot: Genomes) -> Genomes:
        known = self._known
        return lot.at(np.array([key not in known for key in lot.keys().tolist()], bool))
