"""What every worker imports: a server that imports this module forks workers that need not."""

import dse.evaluate.scenarios
import dse.evaluate.simulator
import dse.evaluate.workers.local_pool
import dse.run.islands.host  # noqa: F401
from simcore.kernels.jit import load_compiler

load_compiler()
