"""Parts that machines are built of, with prices, powers and sources, and lines of bills.

Names are imported when first used: prices need no networks.
"""

from simcore.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
