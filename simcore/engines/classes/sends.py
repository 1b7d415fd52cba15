"""Messages between stages that a network outside the kernel carries."""

from collections.abc import Callable, Mapping

import numpy as np

from simcore.engines.classes.state import ClassState
from simcore.engines.events.input import Ints
from simcore.engines.in_step.carried import CarriedMessages
from simcore.engines.in_step.ways import Pair
from simcore.kernels.classes import layout as f
from simcore.kernels.heaps import push_event
from simcore.kernels.npu.layout import NEVER


class Sends:
    """Sends of an iteration, on a network that is made anew whenever the iteration begins.

    Args:
        messages: Stages and bytes of each, by the position of its node.
        network: Makes one.
    """

    def __init__(
        self,
        messages: Mapping[int, tuple[Pair, int]],
        network: Callable[[], CarriedMessages],
    ) -> None:
        self._messages, self._make = messages, network
        self._network: CarriedMessages = network()
        self._arrived = list[tuple[int, int, int]]()

    def begin(self, state: ClassState) -> None:
        """Let the kernel hand out sends, from the start on."""
        self._network, self._arrived = self._make(), []
        most = (state.counter.size - f.COUNTERS) // 3
        state.counter[f.OUTBOX] = f.COUNTERS + 2 * most

    def take(self, state: ClassState) -> None:
        """Send what the kernel has handed out."""
        counter = state.counter
        first, now = int(counter[f.OUTBOX]), int(counter[f.NOW])
        for position in counter[first : first + int(counter[f.SENT])].tolist():
            pair, size_bytes = self._messages[position]
            self._network.send(now, position, pair, size_bytes)
        counter[f.SENT] = 0
        self._set_horizon(state)

    def go_on(self, state: ClassState) -> bool:
        """Let messages pass until some arrive, or the kernel's turn comes; False: none are left."""
        if self._network.next_event_ns() is None:
            return False
        counter, event = state.counter, state.event
        until_ns = int(event[0, 0]) if counter[f.EVENTS] else NEVER
        for one in self._network.advance(until_ns):
            pair = self._messages[one.message][0]
            what = pair[0] << f.POSITION_BITS | one.message
            push_event(event, counter, one.time_ns, one.begun_ns, what)
            self._arrived += [(stage, one.time_ns, one.begun_ns) for stage in pair]
        self._set_horizon(state)
        return True

    def _set_horizon(self, state: ClassState) -> None:
        due_ns = self._network.next_event_ns()
        state.counter[f.HORIZON] = NEVER if due_ns is None else due_ns - 1

    def tied(self, own: Ints) -> bool:
        """True if the order of two simultaneous events mattered that is not known.

        NPUs of a stage may then see them in unlike orders, and fall out of step: arrivals at one
        stage that were scheduled at one time, with each other or with an end of the stage's own.

        Args:
            own: (E, 3) int64: stage, time and time of scheduling of each end within a stage.
        """
        if self._network.tied:
            return True
        arrived = np.array(self._arrived, np.int64).reshape(-1, 3)
        near = own[np.isin(own[:, 1], arrived[:, 1])]
        every = np.concatenate([arrived, np.unique(near, axis=0)])
        return len(np.unique(every, axis=0)) < len(every)
