"""Searches of other tools, as they work there: for comparison only, no study can name them."""

from dse.samplers.baselines.agents import AntColony, GeneticAlgorithm, RandomWalk
from dse.samplers.baselines.raw import RawSpace

__all__ = ["AntColony", "GeneticAlgorithm", "RandomWalk", "RawSpace"]
