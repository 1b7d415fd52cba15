"""Costs of a machine: to buy, to power, to own.

Names are imported when first used: a study has two cost models of many.
"""

from simcore import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
