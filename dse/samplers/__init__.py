"""Proposers of designs: the `design` search, and Optuna's samplers over valid encodings."""

from dse.samplers.base import Outcome, Prices, Proposal, Proposer, ProposerInput
from dse.samplers.registry import SAMPLERS, SamplerEntry, build_proposer

__all__ = [
    "SAMPLERS",
    "Outcome",
    "Prices",
    "Proposal",
    "Proposer",
    "ProposerInput",
    "SamplerEntry",
    "build_proposer",
]
