"""Proof put together from parts."""

import time
from collections.abc import Mapping

import numpy as np

from dse.evaluate import Evaluation
from dse.proof.prove import Proof, Reached, nothing_known, proof_of
from dse.rank.pareto import Front, non_dominated
from dse.space import Design


class JointProof:
    """A proof in parts that others work on, over all designs that any of them has found.

    A part leaves out what the designs that it knows come near enough to: those are among the
    designs here, so that what all parts have reached holds for all designs.
    """

    def __init__(self, signs_by_name: Mapping[str, int], parts: int) -> None:
        """Begin.

        Args:
            signs_by_name: +1 for each objective that is minimised, -1 for each that is maximised.
            parts: How many there are, none of which began.
        """
        self._signs = dict(signs_by_name)
        start = nothing_known([*self._signs.values()])
        none = Reached(possible=start, is_closed=False, simulations=0)
        self._reached = [none] * parts
        self._front: Front[Design] = Front()
        self._begin_s = time.process_time()

    @property
    def is_closed(self) -> bool:
        """True if the gap is proven."""
        return all(part.is_closed for part in self._reached)

    def learn(self, design: Design, evaluation: Evaluation) -> None:
        """The outcome of any design of the study."""
        if evaluation.state == "complete":
            found = evaluation.objectives
            point = [sign * found[name] for name, sign in self._signs.items()]
            self._front.add(design, point)

    def take(self, number: int, reached: Reached) -> None:
        """Note how far the part with a *number* has come, all of whose designs are told."""
        self._reached[number] = reached

    def proof(self) -> Proof:
        """Proof so far."""
        possible = np.concatenate([part.possible for part in self._reached])
        reached = Reached(
            possible=possible[non_dominated(possible)],
            is_closed=self.is_closed,
            simulations=sum(part.simulations for part in self._reached),
        )
        seconds = time.process_time() - self._begin_s
        return proof_of(self._signs, self._front, reached, seconds)
