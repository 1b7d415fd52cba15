"""Searches of other tools, as they work there: for comparison only, no study can name them."""

from dse.samplers.baselines.agents import Agent, AntColony, GeneticAlgorithm, RandomWalk
from dse.samplers.baselines.bayesian import Bayesian
from dse.samplers.baselines.raw import RawSpace

__all__ = ["Agent", "AntColony", "Bayesian", "GeneticAlgorithm", "RandomWalk", "RawSpace"]
