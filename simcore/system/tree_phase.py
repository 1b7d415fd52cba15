"""Time of one phase of the double binary tree among members that start together.

The machine is ASTRA-sim 2.0's: a leaf sends the chunk to its parent; an inner member that has both
children's chunks, each reduced on arrival, sends on; the root sends back down. A root has one
child, the root of a complete binary tree over the other members in order.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePhase:
    """A tree over *members* positions (a power of two); position 0 is the root.

    Attributes:
        members: At least 2.
        message_ns: Time of the chunk between two positions.
        endpoint_delay_ns: Cost of handling one message.
        reduction_ns: Cost of reducing one chunk.
    """

    members: int
    message_ns: Callable[[int, int], int]
    endpoint_delay_ns: int
    reduction_ns: int

    def ends(self) -> tuple[int, int]:
        """When the last and the first member are done, all having started at 0, in ns."""
        top = self._middle(1, self.members - 1)
        arrival = self._up(1, self.members - 1) + self.message_ns(top, 0)
        root_ns = arrival + self.endpoint_delay_ns + self.reduction_ns
        below = self._down(1, self.members - 1, root_ns + self.message_ns(0, top))
        return max(root_ns, *below), min(root_ns, *below)

    def _middle(self, first: int, last: int) -> int:
        return (first + last) // 2

    def _up(self, first: int, last: int) -> int:
        """When the root of the positions *first* to *last* sends to its parent."""
        if first == last:
            return self.endpoint_delay_ns
        middle = self._middle(first, last)
        halves = ((first, middle - 1), (middle + 1, last))
        arrivals = (
            self._up(*half) + self.message_ns(self._middle(*half), middle) for half in halves
        )
        return max(arrivals) + self.endpoint_delay_ns + self.reduction_ns

    def _down(self, first: int, last: int, received_ns: int) -> tuple[int, int]:
        """First and last end below and at the root of *first* to *last*, which has received."""
        if first == last:
            end_ns = received_ns + self.endpoint_delay_ns
            return end_ns, end_ns
        middle = self._middle(first, last)
        end_ns = received_ns + self.endpoint_delay_ns + self.reduction_ns
        ends = [end_ns]
        for half in ((first, middle - 1), (middle + 1, last)):
            ends += self._down(*half, end_ns + self.message_ns(middle, self._middle(*half)))
        return min(ends), max(ends)
