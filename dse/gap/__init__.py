"""How good a study's answer is at least: a proven gap to the best that could exist."""

from dse.gap.close import Effort, close_gap
from dse.gap.proposer import ProvingProposer
from dse.gap.prove import Proof, Prover

__all__ = ["Effort", "Proof", "Prover", "ProvingProposer", "close_gap"]
