"""What proposes designs: Optuna's samplers, seen through valid encodings of the space."""

from dse.samplers.proposer import Proposal, Proposer
from dse.samplers.registry import SAMPLERS, SamplerEntry

__all__ = ["SAMPLERS", "Proposal", "Proposer", "SamplerEntry"]
