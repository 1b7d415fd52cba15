"""Searches of other tools, as they work there: for comparison only, no study can name them."""

from baselines.agents import Agent, RandomWalk
from baselines.ants import AntColony, ElitistAntColony
from baselines.bayesian import Bayesian
from baselines.genetic import ElitistGenetic, GeneticAlgorithm
from baselines.raw import RawSpace

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
