"""Serving: prompts are read by one pool of NPUs, and answered by another.

Names are imported when first used: a check needs no engine.
"""

from simcore.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
