"""The job: what is trained, how it is spread, and the graph of one iteration.

Names are imported when first used: a check needs a plan, and no graph of it.
"""

from simcore.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
