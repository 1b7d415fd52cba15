"""Schedules: when which link carries which chunk, as columns of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.plan import Bools, Plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """Sends (S,) of a collective in order of their start.

    Attributes:
        kind: Which collective.
        npus: NPUs.
        part: Size of a chunk.
        owner: (C,) NPU that brings each chunk of an all-gather or an all-to-all, or keeps it after
            a reduce-scatter; of an all-reduce the node at which its sum is complete first.
        target: (C,) NPU for which each chunk of an all-to-all is; else -1.
        chunk: (S,) chunk of each send.
        tail: (S,) node that sends.
        head: (S,) node that receives.
        link: (S,) link that is occupied.
        joins: (S,) true if a partial sum is sent, which the receiver joins to its own.
        flight: (S,) number shared by sends that take a chunk through switches that only pass on.
        start: (S,) time at which the link begins to carry it.
        time: Time at which everything has arrived.
    """

    kind: str
    npus: int
    part: float
    owner: Ints
    target: Ints
    chunk: Ints
    tail: Ints
    head: Ints
    link: Ints
    joins: Bools
    flight: Ints
    start: Floats
    time: float

    @property
    def sends(self) -> int:
        """Sends."""
        return len(self.chunk)

    def turned_around(self, fabric: Fabric, kind: str) -> "Schedule":
        """The schedule run backwards: what was handed out is joined.

        Args:
            fabric: The network that this schedule is of.
            kind: Which collective it is then.
        """
        takes = self.part / fabric.rate[self.link] + fabric.latency[self.link]
        start = np.maximum(self.time - self.start - takes, 0.0)
        return ordered(
            kind=kind,
            npus=self.npus,
            part=self.part,
            owner=self.owner,
            target=self.target,
            chunk=self.chunk[::-1],
            tail=self.head[::-1],
            head=self.tail[::-1],
            link=self.link[::-1],
            joins=~self.joins[::-1],
            flight=self.flight[::-1],
            start=start[::-1],
            time=self.time,
        )

    def then(self, other: "Schedule", kind: str) -> "Schedule":
        """This schedule and, when it has ended, another one of the same chunks.

        Args:
            other: The schedule that follows.
            kind: Which collective both are together.
        """
        of_sends = ("chunk", "tail", "head", "link", "joins")
        columns = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in of_sends
        }
        further = int(self.flight.max(initial=-1)) + 1
        return ordered(
            **columns,
            kind=kind,
            npus=self.npus,
            part=self.part,
            owner=self.owner,
            target=self.target,
            flight=np.concatenate([self.flight, other.flight + further]),
            start=np.concatenate([self.start, other.start + self.time]),
            time=self.time + other.time,
        )


_SAME = 1e-12


def ordered(**columns: Any) -> Schedule:
    """The schedule of these columns, with its sends in order of start; equal ones stay as they are.

    What a switch passes on begins when that does which brings it there, or later, and comes after:
    starts are equal up to rounding.
    """
    start = columns["start"]
    order = np.argsort(start, kind="stable")
    apart = np.diff(start[order], prepend=0.0) > _SAME * columns["time"]
    order = order[np.lexsort((order, np.cumsum(apart)))]
    of_sends = ("chunk", "tail", "head", "link", "joins", "flight", "start")
    sorted_columns = {name: columns[name][order] for name in of_sends}
    sorted_columns["start"] = np.maximum.accumulate(sorted_columns["start"])
    return Schedule(**{**columns, **sorted_columns})


def scheduled(plan: Plan, fabric: Fabric, kind: str, owner: Ints, target: Ints) -> Schedule:
    """The schedule of a plan: whenever a link is free, the most urgent of what is ready goes."""
    start, time = plan.timed(fabric)
    moves = plan.arc >= 0
    arc = plan.arc[moves]
    return ordered(
        kind=kind,
        npus=fabric.npus,
        part=plan.part,
        owner=owner,
        target=target,
        chunk=plan.chunk[moves],
        tail=fabric.tail[arc],
        head=fabric.head[arc],
        link=fabric.link[arc],
        joins=plan.joins[moves],
        flight=plan.flights(fabric)[moves],
        start=start[moves],
        time=time,
    )
