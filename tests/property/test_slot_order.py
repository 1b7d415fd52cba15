"""What is known of the order in a slot holds on random programs, whatever their nodes take."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from simcore.bounds.plans.slot_order import SlotOrder
from simcore.terms import NodeKind

COMPUTE, COLLECTIVE = NodeKind.COMPUTE, NodeKind.COLLECTIVE


@dataclass
class Program:
    kind: list[int]
    waits: list[list[int]]

    def deps(self, node: int) -> list[int]:
        return self.waits[node]

    def add(self, kind: int, deps: Sequence[int]) -> int:
        self.kind.append(kind)
        self.waits.append(sorted({*deps}))
        return len(self.kind) - 1


def add_pass(program: Program, random: np.random.Generator, last: int) -> int:
    """A chain of computes with collectives between and beside them; gives its last compute."""
    beside: list[int] = []
    for _ in range(random.integers(3, 7)):
        deps = [last] if last >= 0 else []
        for _ in range(random.integers(0, 3)):
            before = deps[-1:] if random.random() < 0.5 else [last][: last + 1]
            one = program.add(COLLECTIVE, before)
            if random.random() < 0.6:
                deps.append(one)
            elif random.random() < 0.7:
                beside.append(one)
        if beside and random.random() < 0.5:
            deps.append(beside.pop())
        last = program.add(COMPUTE, deps)
    return last


def random_program(random: np.random.Generator) -> tuple[Program, range, range]:
    program = Program([], [])
    last = add_pass(program, random, -1)
    begin = len(program.kind)
    last = add_pass(program, random, last)
    end = len(program.kind)
    computes = [node for node in range(end) if program.kind[node] == COMPUTE]
    for _ in range(random.integers(1, 5)):
        program.add(COLLECTIVE, random.choice(computes[-6:], random.integers(1, 3)).tolist())
    return program, range(begin, end), range(end, len(program.kind))


def served(program: Program, time: Sequence[int]) -> tuple[list[int], list[int]]:
    """Starts and ends of all nodes: at every end the ready nodes of low position start first."""
    nodes, now = len(program.kind), 0
    start, end = [-1] * nodes, [-1] * nodes
    running: dict[bool, int] = {}
    done: set[int] = set()
    while len(done) < nodes:
        for node in range(nodes):
            slot = program.kind[node] == COMPUTE
            if start[node] < 0 and slot not in running and done >= {*program.waits[node]}:
                running[slot], start[node], end[node] = node, now, now + time[node]
        slot = min(running, key=lambda one: (end[running[one]], not one))
        now = end[running[slot]]
        done.add(running.pop(slot))
    return start, end


@pytest.mark.parametrize("seed", range(4))
def test_what_is_sooner_in_the_slot_is_so_whatever_nodes_take(seed: int) -> None:
    random = np.random.default_rng(seed)
    told = kept = 0
    for _ in range(400):
        program, nodes, behind = random_program(random)
        order = SlotOrder(program, nodes, behind, [nodes[-1]])
        told += len(order.before)
        for _ in range(12 if order.before else 0):
            longest = random.choice([3, 12, 60], len(program.kind))
            time = random.integers(1, longest + 1).tolist()
            if any(sum(time[n] for n in r.beside) >= time[r.compute] for r in order.rooms):
                continue
            kept += 1
            start, end = served(program, time)
            for node, late in order.before.items():
                assert end[late] <= start[node], (program, time, node, late)
                assert all(end[one] <= start[late] for one in order.waits[late])
    assert told > 100
    assert kept > 300
