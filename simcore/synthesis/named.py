"""Plans of algorithms that have a name: no synthesised schedule is to be slower than these."""

import numpy as np

from simcore.synthesis.fabric import Fabric
from simcore.synthesis.trees import Trees
from simcore.synthesis.ways import way_plan


def ring_trees(fabric: Fabric, chunks: int, seed: int) -> Trees:
    """Trees of a ring through the NPUs in order: chains; chunk c of NPU r is tree c n + r."""
    npus = fabric.npus
    source = np.arange(npus)
    ends, turns = (source, (source + 1) % npus), np.zeros((1, npus))
    plan, _ = way_plan(fabric.without_latency(), ends, 1.0, turns, 1e-300, seed)
    lengths = np.bincount(plan.chunk, minlength=npus)
    around = np.concatenate([plan.arc, plan.arc])
    begins = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    hops = len(plan.arc) - np.roll(lengths, 1)
    width = int(hops.max())
    place = np.arange(width)
    arcs = around[np.minimum(begins[:, None] + place, len(around) - 1)]
    before = np.broadcast_to(place - 1, (npus, width))
    return (
        np.tile(arcs.astype(np.int32), (chunks, 1)),
        np.tile(before.astype(np.int32), (chunks, 1)),
        np.tile(hops, chunks).astype(np.int64),
    )


def direct_trees(fabric: Fabric, chunks: int, aim: float, seed: int) -> Trees:
    """Trees of which the root sends to every other NPU itself, the next one first."""
    npus = fabric.npus
    source = np.repeat(np.arange(npus), npus - 1)
    target = (source + np.tile(np.arange(1, npus), npus)) % npus
    ends, turns = (source, target), np.zeros((1, len(source)))
    plan, _ = way_plan(fabric.without_latency(), ends, 1.0, turns, aim, seed)
    begins = np.searchsorted(source[plan.chunk], np.arange(npus + 1))
    hops = np.diff(begins)
    width = int(hops.max())
    arcs = np.zeros((npus, width), np.int32)
    before = np.full((npus, width), -1, np.int32)
    place = np.arange(len(plan.arc)) - begins[source[plan.chunk]]
    arcs[source[plan.chunk], place] = plan.arc
    waits = plan.after
    before[source[plan.chunk[waits]], place[waits]] = place[plan.before]
    return np.tile(arcs, (chunks, 1)), np.tile(before, (chunks, 1)), np.tile(hops, chunks)
