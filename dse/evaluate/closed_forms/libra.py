"""LIBRA's closed form: collectives as traffic over bandwidth, nothing overlaps, nothing is late.

A collective takes as long as the dimension that is busiest with it, since chunks keep all of them
busy at once; there is no latency, and computing and communicating take turns. What it is good for
is a first split of bandwidth over the dimensions: judge that again with the simulator.

Source: W. Won et al., "LIBRA: Enabling Workload-Aware Multi-Dimensional Network Topology
Optimization", ISPASS 2024, sections 4 and 5; the collectives of a transformer are Megatron-LM's
(D. Narayanan et al., SC 2021, arXiv 2104.04473), as MODEL-0 has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from dse.evaluate.closed_forms.problem import Problem
from simcore import InfeasibleError

ALL_REDUCES = 4
"""Per layer and micro-batch, over the tp group: two forward, two backward."""

VALUE_BYTES = 2
"""Size of an activation or a gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One design: how the model is split, over which network.

    Attributes:
        tp, pp, dp, micro_batch: The plan; tp lies innermost, pp outermost.
        npus: NPUs of each dimension, innermost first.
        bandwidth_bytes_per_s: Of one NPU in each dimension, one direction.
    """

    tp: int
    pp: int
    dp: int
    micro_batch: int
    npus: tuple[int, ...]
    bandwidth_bytes_per_s: tuple[float, ...]


def iteration_time_s(problem: Problem, split: Split) -> float:
    """Time of one iteration: compute and tp, filled and drained over the pipeline, sends, dp.

    Raises:
        InfeasibleError: A rule of structure is broken.
    """
    tp, dp, pp = extents(split.npus, (split.tp, split.dp, split.pp))
    micro_batches = _micro_batches(problem, split)
    sent = VALUE_BYTES * split.micro_batch * problem.sequence * problem.hidden
    layers = problem.layers / split.pp
    tp_s = micro_batches * layers * ALL_REDUCES * all_reduce_s(sent, tp, split)
    slots = micro_batches + split.pp - 1
    stage = layers * problem.layer_parameters + problem.embedding_parameters
    dp_s = all_reduce_s(VALUE_BYTES * stage / split.tp, dp, split)
    send_s = 0.0
    if split.pp > 1:
        outside = next(d for d, members in enumerate(pp) if members > 1)
        send_s = 2 * slots * sent / split.tp / split.bandwidth_bytes_per_s[outside]
    return (problem.compute_s + tp_s) * slots / micro_batches + send_s + dp_s


def all_reduce_s(size_bytes: float, members: Sequence[int], split: Split) -> float:
    """Time of an all-reduce over *members* NPUs of each dimension, the busiest dimension's.

    Each dimension sends ``2 m (p - 1) / p`` bytes of what the ones inside have left of it,
    ``m / p`` each (LIBRA, section 4.1).
    """
    longest_s = 0.0
    for count, bandwidth in zip(members, split.bandwidth_bytes_per_s, strict=True):
        longest_s = max(longest_s, 2 * size_bytes * (count - 1) / count / bandwidth)
        size_bytes /= count
    return longest_s


def extents(npus: Sequence[int], degrees: Sequence[int]) -> list[tuple[int, ...]]:
    """Members of a group in each dimension, for groups that are laid out one outside the other.

    Args:
        npus: NPUs of each dimension, innermost first.
        degrees: Sizes of the groups, innermost first.

    Raises:
        InfeasibleError: They do not fill the dimensions evenly.
    """
    if prod(npus) != prod(degrees):
        reason = f"{' x '.join(map(str, degrees))} NPUs of plan on {prod(npus)} of machine"
        raise InfeasibleError("plan_fills_machine", reason)
    free, found = list(npus), []
    for degree in degrees:
        left, members = degree, []
        for dimension, count in enumerate(free):
            # a group goes on outside only once the dimensions inside are full
            taken = gcd(left, count)
            if taken < left and taken < count:
                reason = f"a group of {degree} fills no dimension of {npus[dimension]} evenly"
                raise InfeasibleError("groups_tile_dimensions", reason)
            members.append(taken)
            left, free[dimension] = left // taken, count // taken
        found.append(tuple(members))
    return found


def _micro_batches(problem: Problem, split: Split) -> int:
    """Micro-batches of one pipeline."""
    if problem.layers % split.pp:
        raise InfeasibleError("pp_divides_layers", f"{problem.layers} layers on {split.pp} stages")
    if problem.heads % split.tp:
        raise InfeasibleError("tp_divides_heads", f"{problem.heads} heads on {split.tp} NPUs")
    if problem.batch % (split.dp * split.micro_batch):
        reason = f"{problem.batch} samples on {split.dp} replicas by {split.micro_batch}"
        raise InfeasibleError("batch_divides_over_dp", reason)
    return problem.batch // (split.dp * split.micro_batch)
