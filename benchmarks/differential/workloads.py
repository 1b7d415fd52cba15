"""The kinds of workload of a random case; each fills the traces of all NPUs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from case import COLLECTIVES, Case, Traces

from simcore.terms import CollectiveKind, NodeKind


def size_bytes(rng: Random) -> int:
    """A size: small ones, odd ones, large ones."""
    kinds = (
        lambda: rng.randrange(64, 5000),
        lambda: 1 << rng.randrange(8, 27),
        lambda: rng.randrange(10**4, 10**7),
        lambda: rng.randrange(10**7, 3 * 10**8),
    )
    return rng.choice(kinds)()


def _priority(rng: Random) -> dict[str, object]:
    return {"comm_priority": rng.randrange(5)} if rng.random() < 0.5 else {}


def _involved(case: Case) -> dict[str, object]:
    rng, count = case.traces.rng, len(case.dimensions)
    if rng.random() < 0.7:
        return {}
    flags = [rng.random() < 0.7 for _ in range(count)]
    flags[rng.randrange(count)] = True
    return {"involved_dim": (*flags, *[True] * (4 - count))}


def collectives(case: Case) -> None:
    """A chain of collectives and compute nodes, which last another time on every NPU."""
    traces = case.traces
    steps = [
        (traces.rng.choice(COLLECTIVES), size_bytes(traces.rng), _involved(case))
        for _ in range(traces.rng.randrange(1, 4))
    ]
    for npu in range(traces.npus):
        after: tuple[int, ...] = ()
        for what, size, attributes in steps:
            if traces.rng.random() < 0.6:
                after = (traces.compute(npu, after),)
            after = (traces.collective(npu, what, size, after, **attributes),)


def many(case: Case) -> None:
    """Many small collectives at once."""
    traces = case.traces
    steps = [
        (traces.rng.choice(COLLECTIVES), traces.rng.randrange(64, 10**5), _priority(traces.rng))
        for _ in range(traces.rng.randrange(10, 40))
    ]
    for npu in range(traces.npus):
        for what, size, attributes in steps:
            traces.collective(npu, what, size, **attributes)


def symmetric(case: Case) -> None:
    """The same file for every NPU: layers of compute and a collective beside them."""
    traces, rng = case.traces, case.traces.rng
    plan = [
        (rng.choice((1, 5, 20)), rng.choice(COLLECTIVES), size_bytes(rng))
        for _ in range(rng.randrange(2, 7))
    ]
    work = [(rng.randrange(10**6, 10**9), rng.randrange(1, 10**6)) for _ in plan]
    for npu in range(traces.npus):
        before: tuple[int, ...] = ()
        for (micros, what, size), (ops, moved) in zip(plan, work, strict=True):
            number = traces.add(
                npu, NodeKind.COMPUTE, before, micros, num_ops=ops, tensor_size=moved
            )
            before = (number,)
            traces.collective(npu, what, size, before)


def dag(case: Case) -> None:
    """One random graph for all NPUs, with compute nodes that last another time on each."""
    traces, rng = case.traces, case.traces.rng
    plan = []
    for position in range(rng.randrange(4, 16)):
        parents = [p for p in range(position) if rng.random() < 0.3]
        plan.append((parents, rng.random() < 0.5, rng.choice(COLLECTIVES), size_bytes(rng)))
    for npu in range(traces.npus):
        numbers: list[int] = []
        for parents, computes, what, size in plan:
            after = [numbers[p] for p in parents]
            if computes:
                numbers.append(traces.compute(npu, after))
            else:
                numbers.append(traces.collective(npu, what, size, after))


def groups(case: Case) -> None:
    """Collectives in disjoint groups, then perhaps of all NPUs."""
    traces, rng = case.traces, case.traces.rng
    order = rng.sample(range(traces.npus), traces.npus)
    cut = rng.randrange(1, traces.npus)
    for key, members in enumerate((order[:cut], order[cut:]), 1):
        traces.groups[key] = members
        steps = [(rng.choice(COLLECTIVES), size_bytes(rng)) for _ in range(rng.randrange(1, 4))]
        for npu in members:
            after: tuple[int, ...] = ()
            for what, size in steps:
                if rng.random() < 0.5:
                    after = (traces.compute(npu, after),)
                after = (traces.collective(npu, what, size, after, pg_name=str(key)),)
    if rng.random() < 0.3:
        what, size = rng.choice(COLLECTIVES), size_bytes(rng)
        for npu in range(traces.npus):
            traces.collective(npu, what, size, [traces.nodes[npu][-1].id])


def overlapping(case: Case) -> None:
    """Collectives in groups that share members, each member running its own in one order."""
    traces, rng = case.traces, case.traces.rng
    after: dict[int, tuple[int, ...]] = {}
    for key in range(1, rng.randrange(3, 7)):
        members = rng.sample(range(traces.npus), rng.randrange(2, traces.npus + 1))
        traces.groups[key] = members
        what, size = rng.choice(COLLECTIVES), size_bytes(rng)
        chained = rng.random() < 0.6
        for npu in members:
            before = after.get(npu, ()) if chained else ()
            if rng.random() < 0.4:
                before = (traces.compute(npu, before),)
            after[npu] = (traces.collective(npu, what, size, before, pg_name=str(key)),)
    for npu in range(traces.npus):
        if not traces.nodes[npu]:
            traces.compute(npu)


def p2p(case: Case) -> None:
    """Messages between random pairs."""
    traces, rng = case.traces, case.traces.rng
    for npu in range(traces.npus):
        traces.compute(npu)
    for tag in range(rng.randrange(4, 40)):
        source, target = rng.sample(range(traces.npus), 2)
        size = size_bytes(rng)
        for npu, put, peer in ((source, traces.send, target), (target, traces.receive, source)):
            known = [node.id for node in traces.nodes[npu]]
            after = rng.sample(known, min(len(known), rng.randrange(2)))
            put(npu, peer, size, tag, after)


def pipeline(case: Case) -> None:
    """1F1B: forwards, then one backward after each forward, then the remaining backwards."""
    traces, rng = case.traces, case.traces.rng
    stages, batches, size = traces.npus, rng.randrange(1, 7), size_bytes(rng)
    for stage in range(stages):
        ahead = min(stages - stage, batches)
        order = [("F", b) for b in range(ahead)]
        for b in range(batches):
            order.append(("B", b))
            if ahead + b < batches:
                order.append(("F", ahead + b))
        before: tuple[int, ...] = ()
        for what, batch in order:
            step = 1 if what == "F" else -1
            tag, after = 2 * batch + (what == "B"), list(before)
            if 0 <= stage - step < stages:
                after.append(traces.receive(stage, stage - step, size, tag))
            before = (traces.compute(stage, after),)
            if 0 <= stage + step < stages:
                traces.send(stage, stage + step, size, tag, before)
    if rng.random() < 0.4:
        for stage in range(stages):
            last = [traces.nodes[stage][-1].id]
            traces.collective(stage, CollectiveKind.ALL_REDUCE, size, last)


def custom(case: Case) -> None:
    """A collective given as messages of its own, up to some dozens free at once."""
    traces, rng = case.traces, case.traces.rng
    algorithm = Traces(rng, traces.npus)
    for tag in range(rng.randrange(3, 30 * traces.npus)):
        source, target = rng.sample(range(traces.npus), 2)
        size = rng.randrange(100, 10**6)
        put = ((source, algorithm.send, target), (target, algorithm.receive, source))
        for npu, add, peer in put:
            known = [node.id for node in algorithm.nodes[npu]]
            after = rng.sample(known, min(len(known), rng.choice((0, 0, 0, 1, 2))))
            if rng.random() < 0.05:
                after = [algorithm.add(npu, NodeKind.COMPUTE, after, rng.randrange(3))]
            add(npu, peer, size, tag, after)
    for npu, nodes in enumerate(algorithm.nodes):
        if not nodes:
            algorithm.add(npu, NodeKind.COMPUTE, (), 1)
    case.algorithms["custom/a"] = algorithm.nodes
    case.system["all-reduce-implementation-custom"] = ["custom/a"]
    case.system["preferred-dataset-splits"] = 1
    size, runs = rng.randrange(10**5, 10**6), rng.randrange(1, 3)
    for npu in range(traces.npus):
        after: tuple[int, ...] = ()
        for _ in range(runs):
            after = (traces.collective(npu, CollectiveKind.ALL_REDUCE, size, after),)


def memory(case: Case) -> None:
    """Loads from and stores to remote memory between collectives."""
    traces, rng = case.traces, case.traces.rng
    kind = rng.choice(("PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"))
    case.memory |= {
        "memory-type": kind,
        "remote-mem-latency": rng.randrange(1, 5000),
        "remote-mem-bw": rng.randrange(1, 1000),
    }
    if kind == "PER_NODE_MEMORY_EXPANSION":
        per_node = rng.choice([n for n in range(1, traces.npus + 1) if traces.npus % n == 0])
        case.memory |= {"num-nodes": traces.npus // per_node, "num-npus-per-node": per_node}
    size = size_bytes(rng)
    for npu in range(traces.npus):
        after: tuple[int, ...] = ()
        for _ in range(rng.randrange(1, 5)):
            what = rng.choice((NodeKind.MEM_LOAD, NodeKind.MEM_STORE))
            number = traces.add(npu, what, after, tensor_size=rng.randrange(10**3, 10**8))
            after = (number,) if rng.random() < 0.6 else ()
        traces.collective(npu, CollectiveKind.ALL_REDUCE, size, [n.id for n in traces.nodes[npu]])


def mixed(case: Case) -> None:
    """Several of the others one after the other, with compute on the CPU."""
    rng, traces = case.traces.rng, case.traces
    for kind in rng.sample((collectives, p2p, many, pipeline), 2):
        kind(case)
    if rng.random() < 0.3:
        for npu in range(traces.npus):
            for _ in range(rng.randrange(1, 4)):
                work = {"num_ops": 1000, "tensor_size": 1000}
                traces.add(npu, NodeKind.COMPUTE, (), rng.randrange(9), is_cpu_op=True, **work)


KINDS: dict[str, Callable[[Case], None]] = {
    kind.__name__: kind
    for kind in (
        collectives, dag, groups, overlapping, p2p, pipeline, custom, memory, symmetric, many, mixed
    )
}  # fmt: skip
"""Per name the function that fills the traces of a case."""
