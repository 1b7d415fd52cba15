"""dse: which machine and which plan train a model best.

Public names are imported when first used, so that ``import dse`` is cheap.
"""

from simcore import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
