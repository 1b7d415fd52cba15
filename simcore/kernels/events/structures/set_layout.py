"""Layout of a set of ``hashed_set``, and how it grows."""

SET_BUCKETS, SET_ITEMS, SET_CAPACITY, SET_KEYS, SET_KEY_STRIDE, SET_LINKS = 0, 1, 2, 3, 4, 5
# What libstdc++'s list of primes gives, from its first size on, for twice the size before.
GROWTH = (
    13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061,
    712697, 1447153, 2938679, 5967347, 12117689, 24607243, 49969847, 101473717, 206062531,
    418451333, 849749479, 1725587117, 3504151727,
)  # fmt: skip


def set_words(capacity: int) -> int:
    """Words that a set of up to *capacity* items takes."""
    return SET_LINKS + capacity + 1 + next(count for count in GROWTH if count >= capacity)
