"""simcore: what one training iteration of a large model costs on a given machine.

Public names are imported when first used, so that ``import simcore`` is cheap.
"""

from simcore.public_names import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
