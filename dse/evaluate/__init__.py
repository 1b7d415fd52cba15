"""Evaluators turn designs into metrics; crews of workers run them.

Names are imported when first used: who checks a study starts no workers.
"""

from simcore import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
