"""Imports of every worker: a server that has imported this module forks workers that need not."""

import dse.evaluate.scenarios
import dse.evaluate.simulator
import dse.evaluate.workers.local_pool  # noqa: F401
from simcore import load_compiler

load_compiler()
