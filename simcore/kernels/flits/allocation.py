"""Allocators: a matching of inputs and outputs that ask for each other.

iSLIP: each output grants the first request at or after its pointer, each input accepts the first
grant at or after its own, and both pointers move to one past a match of the first iteration. A
separable allocator has a round-robin arbiter per input and per output, one stage after the other,
and looks at priorities first; pointers move to one past a match.

Sources: N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM
Transactions on Networking 7(2), 1999; W. Dally, B. Towles, Principles and Practices of
Interconnection Networks, 2004, chapter 19.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.flits.network import NONE, Ints
from simcore.kernels.jit import njit

ISLIP, INPUT_FIRST, OUTPUT_FIRST = range(3)

INPUT, OUTPUT, PRIORITY, LABEL = range(4)
"""Columns of a request: who asks for what, how urgently, and a word of the asker's own."""


class Scratch(NamedTuple):
    """Room for one router's matching.

    Attributes:
        asks: (M, 4) requests.
        guesses: (M, 2) channels that wait for one behind an output, and the output.
        spoilt: (P V,) whether a channel has a way that is shut; 0 between cycles.
        granted, chosen: (W,) requests by output and by input; ``NONE`` between calls.
        wins: (W,) requests that were granted.
        best: (inputs, outputs) requests of the switch; ``NONE`` between calls.
        used: (2, W) inputs and outputs that are taken; 0 between cycles.
    """

    asks: Ints
    guesses: Ints
    spoilt: Ints
    granted: Ints
    chosen: Ints
    wins: Ints
    best: Ints
    used: Ints


def scratch_for(ports: int, channels: int, ways: int, switch: tuple[int, int]) -> Scratch:
    """Room for routers.

    Args:
        ports: Of a router.
        channels: Of a port.
        ways: That a head may take.
        switch: Inputs and outputs of the switch for each port.
    """
    width = ports * max(channels, *switch)
    most = ports * channels * max(ways, 1) * channels
    inputs, outputs = ports * switch[0], ports * switch[1]
    return Scratch(
        np.zeros((most, 4), np.int64), np.zeros((ports * channels * max(ways, 1), 2), np.int64),
        np.zeros(ports * channels, np.int64),
        np.full(width, NONE, np.int64), np.full(width, NONE, np.int64),
        np.zeros(width, np.int64), np.full((inputs, outputs), NONE, np.int64),
        np.zeros((2, width), np.int64),
    )  # fmt: skip


@njit(cache=True)
def match(
    kind: int, iterations: int, asks: Ints, count: int, size: tuple[int, int],
    offers: Ints, accepts: Ints, scratch: Scratch,
) -> int:  # fmt: skip
    """Write the requests that are granted to ``scratch.wins``, and tell how many.

    Args:
        kind: Of allocator.
        iterations: Of iSLIP.
        asks: Requests.
        count: How many.
        size: Inputs and outputs.
        offers: Pointers of outputs; changed.
        accepts: Pointers of inputs; changed.
        scratch: Room.
    """
    if count == 0:
        return 0
    if kind == INPUT_FIRST:
        return _input_first(asks, count, size, offers, accepts, scratch)
    wins = _output_first(asks, count, size, offers, accepts, scratch, kind == OUTPUT_FIRST)
    for _ in range(1, iterations):
        more = _again(asks, count, size, offers, accepts, scratch, wins)
        if more == wins:
            break
        wins = more
    for j in range(wins):
        scratch.used[0, asks[scratch.wins[j], INPUT]] = 0
        scratch.used[1, asks[scratch.wins[j], OUTPUT]] = 0
    return wins


@njit(cache=True)
def _behind(place: int, pointer: int, size: int) -> int:
    """Steps from a pointer on to a place."""
    return place - pointer if place >= pointer else place - pointer + size


@njit(cache=True)
def _is_before(asks: Ints, a: int, b: int, column: int, pointer: int, size: int) -> bool:
    """True if request *a* comes before *b* at an arbiter without priorities."""
    if b == NONE:
        return True
    return _behind(asks[a, column], pointer, size) < _behind(asks[b, column], pointer, size)


@njit(cache=True)
def _is_better(asks: Ints, a: int, b: int, column: int, pointer: int, size: int) -> bool:
    """True if request *a* comes before *b* at an arbiter that looks at priorities first."""
    if b != NONE and asks[a, PRIORITY] != asks[b, PRIORITY]:
        return bool(asks[a, PRIORITY] > asks[b, PRIORITY])
    return _is_before(asks, a, b, column, pointer, size)


@njit(cache=True)
def _both(
    asks: Ints, count: int, size: tuple[int, int], offers: Ints, accepts: Ints, scratch: Scratch
) -> int:
    """Write the requests that are granted and chosen, and move the pointers past them."""
    chosen, granted = scratch.chosen, scratch.granted
    wins = 0
    for a in range(count):
        i, o = asks[a, INPUT], asks[a, OUTPUT]
        if granted[o] == a and chosen[i] == a:
            scratch.wins[wins] = a
            wins += 1
            offers[o], accepts[i] = (i + 1) % size[0], (o + 1) % size[1]
    for a in range(count):
        chosen[asks[a, INPUT]], granted[asks[a, OUTPUT]] = NONE, NONE
    return wins


@njit(cache=True)
def _input_first(
    asks: Ints, count: int, size: tuple[int, int], offers: Ints, accepts: Ints, scratch: Scratch
) -> int:
    chosen, granted = scratch.chosen, scratch.granted
    for a in range(count):
        i = asks[a, INPUT]
        if _is_better(asks, a, chosen[i], OUTPUT, accepts[i], size[1]):
            chosen[i] = a
    for a in range(count):
        o = asks[a, OUTPUT]
        if chosen[asks[a, INPUT]] == a and _is_better(
            asks, a, granted[o], INPUT, offers[o], size[0]
        ):
            granted[o] = a
    return _both(asks, count, size, offers, accepts, scratch)


@njit(cache=True)
def _output_first(
    asks: Ints, count: int, size: tuple[int, int], offers: Ints, accepts: Ints, scratch: Scratch,
    looks: bool,
) -> int:  # fmt: skip
    """Match once; with priorities where it *looks* at them."""
    chosen, granted = scratch.chosen, scratch.granted
    for a in range(count):
        o = asks[a, OUTPUT]
        if looks:
            if _is_better(asks, a, granted[o], INPUT, offers[o], size[0]):
                granted[o] = a
        elif _is_before(asks, a, granted[o], INPUT, offers[o], size[0]):
            granted[o] = a
    for a in range(count):
        i = asks[a, INPUT]
        if granted[asks[a, OUTPUT]] != a:
            continue
        if looks:
            if _is_better(asks, a, chosen[i], OUTPUT, accepts[i], size[1]):
                chosen[i] = a
        elif _is_before(asks, a, chosen[i], OUTPUT, accepts[i], size[1]):
            chosen[i] = a
    return _both(asks, count, size, offers, accepts, scratch)


@njit(cache=True)
def _again(
    asks: Ints, count: int, size: tuple[int, int], offers: Ints, accepts: Ints, scratch: Scratch,
    wins: int,
) -> int:  # fmt: skip
    """Match what is left after *wins*; pointers stay."""
    chosen, granted, used = scratch.chosen, scratch.granted, scratch.used
    for j in range(wins):
        used[0, asks[scratch.wins[j], INPUT]] = 1
        used[1, asks[scratch.wins[j], OUTPUT]] = 1
    for a in range(count):
        i, o = asks[a, INPUT], asks[a, OUTPUT]
        is_left = not used[0, i] and not used[1, o]
        if is_left and _is_before(asks, a, granted[o], INPUT, offers[o], size[0]):
            granted[o] = a
    for a in range(count):
        i = asks[a, INPUT]
        is_granted = granted[asks[a, OUTPUT]] == a
        if is_granted and _is_before(asks, a, chosen[i], OUTPUT, accepts[i], size[1]):
            chosen[i] = a
    for a in range(count):
        if chosen[asks[a, INPUT]] == a:
            scratch.wins[wins] = a
            wins += 1
    for a in range(count):
        chosen[asks[a, INPUT]], granted[asks[a, OUTPUT]] = NONE, NONE
    return wins
