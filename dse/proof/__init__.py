"""Proofs of how good a study's answer is: a gap to the best that could exist."""

from dse.proof.proposer import ProvingProposer
from dse.proof.prove import Effort, Proof, Prover, close_gap

__all__ = ["Effort", "Proof", "Prover", "ProvingProposer", "close_gap"]
