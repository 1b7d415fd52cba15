"""NPUs that must behave identically on links that messages share out fairly.

Members of a class send alike messages at once, each along its own way. So links are put into
classes, too: each link of a class carries as much of what a class of NPUs sends along one relation
as each other one does, and each NPU of a class sends along as many links of each class. On such
links max-min fair rates are equal within a class, whatever is under way: one link stands for all,
which the message of a stand-in loads with what all of them put there.

Both kinds of classes are made finer by each other until nothing changes, the coarsest partition
that is equitable (as colours of graphs are refined: B. Weisfeiler and A. Leman, 1968).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.fold.relations import (
    AlikeSet,
    CannotFoldError,
    first_relation,
    numbered,
)
from simcore.engines.events.input import Ints
from simcore.graphs.routing import RouteTable
from simcore.graphs.stack import StackedGraph
from simcore.network.flow import StandInWay, StandInWays

Floats = NDArray[np.float64]

_MOST_WAYS, _MOST_HOPS = 4_000_000, 40_000_000
_DIGITS = 12
"""Digits to which parts of messages are equal that are equal but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ways:
    """Ways of A pairs of NPUs: from a member along a relation of its set.

    Attributes:
        begin: (B + 1,) where the pairs of each set begin.
        row: (A,) place of the member in its set.
        source: (A,) member.
        target: (A,) its partner.
        relation: (A,) number of the relation, of its set.
        way: (E,) pair of each step of a way.
        link: (E,) link of each, numbered among those that are used.
        part: (E,) number of the part of the message that the link carries.
        parts: What these are.
        used: (U,) the links.
    """

    begin: list[int]
    row: Ints
    source: Ints
    target: Ints
    relation: Ints
    way: Ints
    link: Ints
    part: Ints
    parts: Floats
    used: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AlikeOnLinks:
    """Classes of NPUs, and the ways of those that stand for them.

    Attributes:
        class_of_npu: (N,) classes, numbered by their first members.
        ways: Ways of the messages of these, by the NPUs on which they and their receivers are.
    """

    class_of_npu: Ints
    ways: StandInWays


def alike_on_links(
    count: int, blocks: Sequence[AlikeSet], place: Ints, graph: StackedGraph
) -> AlikeOnLinks:
    """Number the classes of members that behave alike, and find the ways of their messages.

    Args:
        count: Members, 0 to count - 1.
        blocks: Each member is in one of them; those of different blocks are never alike. One
            partner in two relations is that in all members that are alike.
        place: (count,) NPU of the network on which each member is.
        graph: The network.

    Raises:
        CannotFoldError: There is too much to compare.
    """
    ways = _ways(blocks, place, graph)
    colours, links = _refined(count, blocks, ways, graph)
    _, first, number = np.unique(colours, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return AlikeOnLinks(
        class_of_npu=rank[number],
        ways=_stand_in_ways(ways, colours, np.sort(first), links, place, graph),
    )


def _ways(blocks: Sequence[AlikeSet], place: Ints, graph: StackedGraph) -> _Ways:
    parts = [_pairs(block) for block in blocks]
    row, source, target, relation = (np.concatenate(one) for one in zip(*parts, strict=True))
    if len(source) > _MOST_WAYS:
        raise CannotFoldError("there are too many pairs of partners to compare")
    routes: RouteTable = graph.ways(place[source], place[target])
    if len(routes.links) > _MOST_HOPS:
        raise CannotFoldError("the ways of all messages are too long to compare")
    used, link = np.unique(routes.links, return_inverse=True)
    shares, part = np.unique(np.round(routes.parts, _DIGITS), return_inverse=True)
    return _Ways(
        begin=[0, *accumulate(len(one[0]) for one in parts)],
        row=row,
        source=source,
        target=target,
        relation=relation,
        way=np.repeat(np.arange(len(source)), np.diff(routes.offsets)),
        link=link,
        part=part,
        parts=shares,
        used=used,
    )


def _pairs(block: AlikeSet) -> tuple[Ints, Ints, Ints, Ints]:
    """Places of members, these, their partners, and the first relation in which they are theirs."""
    own = first_relation(block.partners) == np.arange(block.partners.shape[1])
    row, relation = np.nonzero(own)
    return row, block.members[row], block.partners[row, relation], relation


def _refined(
    count: int, blocks: Sequence[AlikeSet], ways: _Ways, graph: StackedGraph
) -> tuple[Ints, Ints]:
    """Colours of members, and of used links, that tell apart what behaves differently."""
    colours, classes = np.zeros(count, np.int64), 0
    for block in blocks:
        colours[block.members], classes = numbered(block.traits, classes)
    speed = np.column_stack((graph.bytes_per_ns[ways.used], graph.latency_ns[ways.used]))
    links, kinds = numbered(np.ascontiguousarray(speed).view(np.int64), 0)
    relations, shares = int(ways.relation.max(initial=0)) + 1, len(ways.parts)
    while True:
        before = classes, kinds
        sent = colours[ways.source] * relations + ways.relation
        links, kinds = _numbered_lists(ways.link, sent[ways.way] * shares + ways.part, links)
        along, _ = _numbered_lists(
            ways.way, links[ways.link] * shares + ways.part, np.zeros(len(sent), np.int64)
        )
        old, classes = colours, 0
        colours = np.empty_like(old)
        for block, begin, end in zip(blocks, ways.begin[:-1], ways.begin[1:], strict=True):
            table = np.zeros(block.partners.shape, np.int64)
            table[ways.row[begin:end], ways.relation[begin:end]] = 1 + along[begin:end]
            seen = np.column_stack((old[block.members], old[block.partners], table))
            colours[block.members], classes = numbered(seen, classes)
        if (classes, kinds) == before:
            return colours, links


def _numbered_lists(owner: Ints, code: Ints, own: Ints) -> tuple[Ints, int]:
    """A number for each owner, equal for those with equal *own* and equal codes, in any order.

    Args:
        owner: (E,) whose each code is.
        code: (E,) codes.
        own: (O,) what else tells owners apart.

    Returns:
        (O,) the numbers, from 0 on, and how many there are.
    """
    ordered = code[np.lexsort((code, owner))]
    lengths = np.bincount(owner, minlength=len(own))
    first = np.cumsum(lengths) - lengths
    numbers, found = np.empty(len(own), np.int64), 0
    for length in np.unique(lengths).tolist():
        who = np.flatnonzero(lengths == length)
        rows = ordered[first[who][:, None] + np.arange(length)]
        numbers[who], found = numbered(np.column_stack((own[who], rows)), found)
    return numbers, found


def _stand_in_ways(
    ways: _Ways, colours: Ints, stand_ins: Ints, links: Ints, place: Ints, graph: StackedGraph
) -> StandInWays:
    """Ways of the messages of *stand_ins* over one link of each class."""
    relations = int(ways.relation.max(initial=0)) + 1
    sent = colours[ways.source] * relations + ways.relation
    _, number = np.unique(sent, return_inverse=True)
    key = number[ways.way] * len(ways.used) + ways.link
    keys, at = np.unique(key, return_inverse=True)
    weights = ways.parts[ways.part]
    load: Floats = np.bincount(at, weights, len(keys)).astype(np.float64)[at]  # of all of the class
    own = np.flatnonzero(np.isin(ways.source, stand_ins)[ways.way])
    own = own[np.argsort(ways.way[own], kind="stable")]
    begin = np.searchsorted(ways.way[own], np.arange(len(sent) + 1))
    latency = graph.latency_ns[ways.used]
    alike = np.argsort(number, kind="stable")
    of_number = np.searchsorted(number[alike], np.arange(int(number.max(initial=-1)) + 2))
    found = dict[tuple[int, int], StandInWay]()
    for pair in np.flatnonzero(np.isin(ways.source, stand_ins)).tolist():
        steps = own[begin[pair] : begin[pair + 1]]
        of_class, first = np.unique(links[ways.link[steps]], return_index=True)
        same = alike[of_number[number[pair]] : of_number[number[pair] + 1]]
        ends = int(place[ways.source[pair]]), int(place[ways.target[pair]])
        found[ends] = StandInWay(
            links=of_class,
            parts=load[steps[first]],
            latency_ns=float(latency[ways.link[steps]] @ ways.parts[ways.part[steps]]),
            ends=(place[ways.source[same]], place[ways.target[same]]),
        )
    _, first_of = np.unique(links, return_index=True)
    return StandInWays(bytes_per_ns=graph.bytes_per_ns[ways.used[first_of]], of_pair=found)
