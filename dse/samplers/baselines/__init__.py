"""Searches of other tools, as they work there: for comparison only, no study can name them."""

from dse.samplers.baselines.agents import Agent, RandomWalk
from dse.samplers.baselines.ants import AntColony, ElitistAntColony
from dse.samplers.baselines.bayesian import Bayesian
from dse.samplers.baselines.genetic import ElitistGenetic, GeneticAlgorithm
from dse.samplers.baselines.raw import RawSpace

__all__ = [
    "Agent",
    "AntColony",
    "Bayesian",
    "ElitistAntColony",
    "ElitistGenetic",
    "GeneticAlgorithm",
    "RandomWalk",
    "RawSpace",
]
