"""Runs whose bounds know less than those of others."""

from simcore.bounds.plans.plan_terms import why_unordered
from simcore.config import Run
from simcore.network import BACKENDS


def why_computing_alone(run: Run) -> str:
    """Reason why the lower bound of *run* counts no communication; empty: it does.

    Such a bound holds computing, the bubble of the pipeline and transfers to offload tiers. It is
    valid on any network, and far below the time where the network decides.
    """
    if not BACKENDS[run.backend].has_bounds:
        return f"the backend {run.backend}, whose messages may take less than on idle links"
    return why_unordered(run.workload, run.plan)
