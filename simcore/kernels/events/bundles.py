"""The local cost of a step: a bundle's endpoint delay and the reduction of its bytes."""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.shared_bus import offer_bundle
from simcore.kernels.events.structures.event_queue import do_later


@kernel
def pass_bundle(
    arena: Ints,
    rates: Floats,
    walk: int,
    reduce_ns: int,
    size: int,
    at_npu_side: bool,
    sends_back: bool,
) -> None:
    """Pass a bundle over the local bus; *reduce_ns* below 0: nothing to reduce.

    The last three arguments matter to the shared bus only, which groups given as lists (a delay
    below 0) do not use.
    """
    npu, delay_ns = arena[walk + f.WALK_NPU], arena[walk + f.WALK_DELAY_NS]
    if arena[npu + f.NPU_BUS] == 0 or delay_ns < 0:
        do_later(arena, npu, abs(delay_ns), f.DO_BUNDLE, walk, reduce_ns)
    else:
        offer_bundle(arena, rates, walk, npu, reduce_ns, size, at_npu_side, sends_back)
