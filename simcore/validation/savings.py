"""Savings of memory in runs whose publishers do not say what they did.

A run that was measured fitted. Where it would not with what its row tells, and the row leaves out
what is recomputed, the savings that cost least time are taken in turn until it fits:

1. gradients are summed in 16 bits, which costs no time;
2. modules are repeated that are large and cheap: the outputs of norms and activations, and heads
   made of latents;
3. of the layers of each chunk the fewest are repeated as a whole;
4. with all of them repeated, the optimizer's moments are kept in 16 bits.

Memory is that of the run's own tensors (``simcore.memory.footprint``), without margin: the least
that explains the run.
"""

from bisect import bisect_left
from collections.abc import Iterator

from simcore.memory.footprint import footprint
from simcore.workload import ParallelPlan, TrainingWorkload

Choice = tuple[TrainingWorkload, ParallelPlan]


def least_savings(workload: TrainingWorkload, plan: ParallelPlan, room_bytes: float) -> Choice:
    """*workload* and *plan* with the cheapest savings with which they fit.

    Where none is enough, something else is missing in the row: every layer is repeated.
    """
    for chosen in _savings(workload, plan, room_bytes):
        if _fits(chosen, room_bytes):
            return chosen
    return workload, _repeated_layers(workload, plan)[-1]


def _savings(workload: TrainingWorkload, plan: ParallelPlan, room_bytes: float) -> Iterator[Choice]:
    yield workload, plan
    narrow = workload.model_copy(update={"gradient_format": "bf16"})
    yield narrow, plan
    yield narrow, plan.model_copy(update={"recompute_parts": _cheap_parts(workload)})
    plans = _repeated_layers(workload, plan)
    fewest = bisect_left(plans, True, key=lambda each: _fits((narrow, each), room_bytes))
    yield narrow, plans[min(fewest, len(plans) - 1)]
    yield narrow.model_copy(update={"moment_format": "bf16"}), plans[-1]


def _cheap_parts(workload: TrainingWorkload) -> tuple[str, ...]:
    latents = ("latent_heads",) if workload.model.latent else ()
    return ("norms", "activations", *latents)


def _repeated_layers(workload: TrainingWorkload, plan: ParallelPlan) -> list[ParallelPlan]:
    """Plans that repeat one layer of each chunk, two, and so on."""
    per_chunk = -(-workload.model.layers // (plan.pp * plan.interleave))
    return [
        plan.model_copy(update={"recompute": "full", "recompute_layers": layers})
        for layers in range(1, per_chunk + 1)
    ]


def _fits(choice: Choice, room_bytes: float) -> bool:
    return footprint(*choice).total_bytes <= room_bytes
