"""Chakra execution traces (MLCommons): one file of protobuf messages per NPU.

Public names are imported when first used: who reads traces need not load what writes them.
"""

from simcore.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
