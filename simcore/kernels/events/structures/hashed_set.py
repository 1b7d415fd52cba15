"""A set of items that is walked in the order of GNU's C++ library, as ASTRA-sim walks its own.

C++ leaves the order of an ``unordered_set`` open, so a program that starts work in that order
inherits the order of the library it was built with. Here the hash of a number is the number, and:

* all items form one chain, where those of a bucket (key modulo number of buckets) are neighbours;
* a new item goes to the front of its bucket, and a new bucket to the front of the chain;
* a set that would hold more items than buckets first grows to the next number of ``GROWTH``: the
  items move in the order of the chain, each as if it were new;
* an item that leaves closes its gap in the chain; the number of buckets stays.

Source: ``bits/hashtable.h`` and ``bits/hashtable_policy.h`` of libstdc++ (GCC 5 to 14).

A set lies in an array of words. Its items are 0 .. capacity - 1; their keys stand elsewhere in the
same array, unsigned, and differ from each other. Link i + 1 says what follows item i, and link 0
what comes first, as the link of that item (0: nothing). The head of a bucket is 1 more than the
link before its first item (0: an empty bucket).
"""

from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.set_layout import (
    GROWTH,
    SET_BUCKETS,
    SET_CAPACITY,
    SET_ITEMS,
    SET_KEY_STRIDE,
    SET_KEYS,
    SET_LINKS,
)


@kernel
def begin_set(words: Ints, at: int, capacity: int, keys: int, key_stride: int) -> None:
    """Make an empty set at *at*, of ``set_words(capacity)`` words that may hold anything.

    The key of item i is ``words[keys + i * key_stride]``.
    """
    words[at + SET_BUCKETS] = 0
    words[at + SET_ITEMS] = 0
    words[at + SET_LINKS] = 0
    words[at + SET_CAPACITY] = capacity
    words[at + SET_KEYS] = keys
    words[at + SET_KEY_STRIDE] = key_stride


@kernel
def has_items(words: Ints, at: int) -> bool:
    """True if the set holds anything."""
    return words[at + SET_ITEMS] != 0


@kernel
def add_item(words: Ints, at: int, item: int) -> None:
    """Add an item that the set does not hold."""
    words[at + SET_ITEMS] += 1
    if words[at + SET_ITEMS] > words[at + SET_BUCKETS]:
        _grow(words, at)
    _link(words, at, item + 1)


@kernel
def take_first(words: Ints, at: int) -> int:
    """Remove the item that the walk would meet first; returns it."""
    links = at + SET_LINKS
    first = words[links]
    following = words[links + first]
    words[links] = following
    words[at + SET_ITEMS] -= 1
    if following == 0 or _head(words, at, following) != _head(words, at, first):
        words[_head(words, at, first)] = 0
        if following != 0:
            words[_head(words, at, following)] = 1
    return first - 1


@kernel
def _head(words: Ints, at: int, link: int) -> int:
    """Address of the head of the bucket of an item, given by its link."""
    key = words[words[at + SET_KEYS] + (link - 1) * words[at + SET_KEY_STRIDE]]
    buckets = words[at + SET_BUCKETS]
    bucket = (key & ((1 << 63) - 1)) % buckets
    if key < 0:  # 2^63 and more
        bucket = (bucket + (1 << 62) % buckets * 2) % buckets
    return at + SET_LINKS + words[at + SET_CAPACITY] + 1 + bucket


@kernel
def _link(words: Ints, at: int, link: int) -> None:
    links, head = at + SET_LINKS, _head(words, at, link)
    if words[head] != 0:
        before = links + words[head] - 1
        words[links + link] = words[before]
        words[before] = link
        return
    following = words[links]
    words[links + link] = following
    words[links] = link
    words[head] = 1
    if following != 0:
        words[_head(words, at, following)] = link + 1


@kernel
def _grow(words: Ints, at: int) -> None:
    links = at + SET_LINKS
    heads = links + words[at + SET_CAPACITY] + 1
    for count in GROWTH:
        if count > words[at + SET_BUCKETS]:
            words[at + SET_BUCKETS] = count
            break
    for head in range(heads, heads + words[at + SET_BUCKETS]):
        words[head] = 0
    link = words[links]
    words[links] = 0
    while link != 0:
        following = words[links + link]
        _link(words, at, link)
        link = following
