"""Compute models: how long one NPU works on a kernel.

Names are imported when first used: a run has one of the models.
"""

from simcore.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
