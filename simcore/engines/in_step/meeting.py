"""Links that several stages use, each at times of its own: whether one can slow down another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import Ints
from simcore.engines.in_step.loads import LoadedLinks
from simcore.network.base import LinkRule

Floats = NDArray[np.float64]

_SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Use:
    """Messages of one pattern, all at one rate.

    Attributes:
        source: (F,) senders.
        target: (F,) receivers.
        activity: (F,) to which activity each belongs; the uses of one activity follow each other.
        bytes_per_ns: Of each message.
    """

    source: Ints
    target: Ints
    activity: Ints
    bytes_per_ns: float


def keep_apart(links: LoadedLinks, uses: Iterable[Use], rule: LinkRule) -> bool:
    """True if no activity ever slows down another, whenever they are under way.

    With fair parts that holds where the links carry all activities at once at the rates of *uses*,
    and every message crosses a link that its own activity fills: the rates are then max-min fair
    whichever activities are under way. Where messages queue, no two may use one link.

    Args:
        links: Of the machine.
        uses: What all activities send.
        rule: How messages share links.
    """
    keys, loads = list[Ints](), list[Floats]()
    for own_keys, own_loads, filled in _loads(links, uses, rule):
        if not filled:
            return False
        keys.append(own_keys)
        loads.append(own_loads)
    if not keys:
        return True
    key, place = np.unique(np.concatenate(keys), return_inverse=True)
    most = np.zeros(len(key))
    np.maximum.at(most, place, np.concatenate(loads))
    capacity = links.bytes_per_ns
    total = np.bincount(key % len(capacity), most, len(capacity))
    return bool((total <= capacity * (1 + _SLACK)).all())


def _loads(
    links: LoadedLinks, uses: Iterable[Use], rule: LinkRule
) -> Iterator[tuple[Ints, Floats, bool]]:
    """Link and activity as one number, load; whether each message crosses a link that is filled."""
    capacity = links.bytes_per_ns
    for use in uses:
        routes = links.ways(use.source, use.target)
        counts = np.diff(routes.offsets)
        keys = np.repeat(use.activity, counts) * len(capacity) + routes.links
        key, place = np.unique(keys, return_inverse=True)
        if rule is LinkRule.QUEUED:
            yield key, capacity[key % len(capacity)], True
            continue
        load = np.bincount(place, routes.parts * use.bytes_per_ns).astype(np.float64)
        full = load[place] >= capacity[routes.links] * (1 - _SLACK)
        filled = np.bincount(np.repeat(np.arange(len(routes)), counts), full, len(routes)) > 0
        yield key, load, bool(filled.all())
