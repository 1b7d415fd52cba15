"""ASTRA-sim's own files: read as they are, simulated, and reported in its words.

Public names are imported when first used: one run need not load what many runs need.
"""

from simcore.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
