"""Synthesised: the links of a network carry chunks by a schedule that was made for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Offset, Step, share
from simcore.terms import EVERYWHERE, CollectiveKind

SYNTHESISED = "synthesised"


@dataclass(frozen=True, slots=True)
class Synthesised(CollectiveAlgorithm):
    """Schedule that ``simcore.synthesis`` finds for the members on their network, a graph.

    To a member it is one step, in which it sends what no algorithm can do without; how long that
    takes, and what other links carry, is the schedule's. Members that come first wait for the last.

    Source: W. Won et al., "TACOS: Topology-Aware Collective Algorithm Synthesizer for Distributed
    Machine Learning", MICRO 2024 (synthesis for any graph); the trees and bounds are those named in
    ``simcore.synthesis``.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in EVERYWHERE

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        times = 2 if kind is CollectiveKind.ALL_REDUCE else 1
        return (Step(size=Fraction(times * (members - 1), share(kind, members)), peer=Offset(1)),)
