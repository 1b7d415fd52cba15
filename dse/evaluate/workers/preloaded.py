"""Imports of every worker: a server that has imported this module forks workers that need not."""

import dse.evaluate.scenarios
import dse.evaluate.simulator
import dse.evaluate.workers.local_pool  # noqa: F401

# public names, which are imported when they are asked for: here
from simcore import Simulator, load_compiler, prediction_band  # noqa: F401

load_compiler()
