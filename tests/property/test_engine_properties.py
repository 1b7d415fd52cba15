"""What holds for every run of the unfolded engine."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "kernels"))

from engine_runs import collective, dimension, options, program, run_of  # noqa: E402

from simcore.system.engine_input import EngineInput
from simcore.system.unfolded import run_unfolded
from simcore.terms import CollectiveKind

KINDS = [
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
]
