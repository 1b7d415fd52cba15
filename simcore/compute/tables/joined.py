"""Time of the kernels of an operator together: launched once, measured as one, or side by side."""

from collections.abc import Sequence

from simcore.compute.tables.lookup import KernelTimes
from simcore.compute.tables.places import OF_EXPERTS, layer_of_experts
from simcore.compute.tables.rates import LAUNCH_S
from simcore.units import plain_sum
from simcore.workload.graph import Kernel


def joined_s(kernels: Sequence[Kernel], times_s: Sequence[float], times: KernelTimes) -> float:
    """Time of an operator whose *kernels* take *times_s* one by one.

    Element-wise kernels that follow each other are launched once. A layer of experts was measured
    with what is next to it: rows put in the order of the experts, and back. Kernels beside others
    take no time of their own but where both together have more to do than the NPU can.
    """
    own_s, beside_s, before, least_binds = 0.0, 0.0, "", False
    for number, kernel in enumerate(kernels):
        time_s = times_s[number]
        if kernel.kind == "elementwise":
            if _next_to_experts(kernels, number):
                time_s, least_binds = 0.0, True
            elif before == "elementwise":
                time_s = max(time_s - LAUNCH_S, times.least_s(kernel))
        before = kernel.kind
        if kernel.beside:
            beside_s, least_binds = beside_s + time_s, True
        else:
            own_s += time_s
    if not least_binds:
        return own_s
    return max(own_s, beside_s, plain_sum(times.least_s(kernel) for kernel in kernels))


def _next_to_experts(kernels: Sequence[Kernel], number: int) -> bool:
    """True if a layer of experts begins after the kernel *number*, or ends before it."""
    before, after = kernels[max(0, number - OF_EXPERTS)], kernels[min(number + 1, len(kernels) - 1)]
    if before.groups == 1 and after.groups == 1:
        return False
    ends = number >= OF_EXPERTS and layer_of_experts(kernels[number - OF_EXPERTS : number])
    return bool(ends or layer_of_experts(kernels[number + 1 : number + 1 + OF_EXPERTS]))
