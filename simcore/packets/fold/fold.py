"""Parts of a run that are simulated for others, as long as these are told the same."""

from collections.abc import Callable, Iterable
from itertools import groupby

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.begin import begin_group
from simcore.packets.fold.copying import Copy
from simcore.packets.fold.part import Book, Class, Part
from simcore.packets.fold.resources import Resources, State
from simcore.packets.fold.ways import CHOSEN_PACKET_BY_PACKET, Way, Ways
from simcore.packets.image import Image

_MOST_VAIN = 64
"""Times in a row that nothing was alike, after which nobody looks any more."""
_MOST_ALONE = 8
"""Times in a row that all flows under way met, after which nobody looks until they have ended."""

Ended = tuple[int, int]
"""Number of a flow that has ended, and its record."""


def can_fold(image: Image) -> bool:
    """True if alike parts of a run behave alike, whatever their nodes are called.

    Links neither lose packets nor change, and ways are known when flows start.
    """
    arena, routing = image.arena, int(image.arena[f.ROUTING])
    if image.reals[f.LOSS] > 0.0 or arena[f.LINKS_FAIL]:
        return False
    if routing not in (f.BY_HASH, *CHOSEN_PACKET_BY_PACKET):
        return False
    owner, is_switch = image.network.owner, image.network.is_switch
    of_hosts = owner[is_switch[owner] == 0].tolist()
    # the port of a host with several is chosen by a hash, those of switches packet by packet
    return routing == f.BY_HASH or len(set(of_hosts)) == len(of_hosts)


class Fold:
    """Flows told as they come, of which those of leaders start.

    Args:
        image: Of the run, before its first event.
        book: Of its flows.
        start: Starts a flow by its number, now.
        give_room: Gives the lists of a host's ports room for so many flows.

    Attributes:
        taken_over: Flows that took the times of others.
        most: Parts that one was simulated for at once, itself among them, at most.
    """

    def __init__(
        self,
        image: Image,
        book: Book,
        start: Callable[[int], None],
        give_room: Callable[[int, int], None],
    ) -> None:
        self.taken_over, self.most = 0, 1
        self._image, self._book = image, book
        self._start, self._give_room = start, give_room
        self._ways, self._resources = Ways(image), Resources(image)
        self._told: list[int] = []
        self._is_off, self._vain = False, 0
        self._forget()

    def _forget(self) -> None:
        """Begin anew, with no parts."""
        self._owner: dict[int, Part] = {}
        self._part_of_pair: dict[int, Part] = {}
        self._part: dict[int, Part] = {}
        self._classes: list[Class] = []
        self._followers, self._is_stale, self._alone = 0, False, 0

    def tell(self, number: int) -> None:
        """Take a flow in, which starts with all that are told before the next ``flush``."""
        self._told.append(number)

    def flush(self) -> None:
        """Start what was told, now, or what stands for it."""
        if not self._told:
            return
        self._look_anew()
        told, self._told = self._told, []
        begin_group(self._image.arena)
        if not self._is_off:
            parts = self._assigned(told)
            self._match(parts)
            self._take_over(parts)
        for number in told:
            if not self._book.records[number]:
                self._start(number)
        if not self._is_off:
            self._hand_on(parts)
            self._alone = self._alone + 1 if len(self._classes) == 1 and not self._followers else 0
            if self._alone == _MOST_ALONE:
                self.unfold()

    def unfold(self) -> None:
        """Give every follower its own state; nothing is folded until the network is empty."""
        for alike in self._classes:
            for part in alike.followers:
                self._copy(alike, part)
        self._resources.watch_none()
        self._forget()
        self._is_off = True
        self._note_followers()

    def in_order(self, ended: list[Ended]) -> list[Ended]:
        """Flows that have ended in one ns and all that took their times, in their order.

        Args:
            ended: Those that were simulated, in the order of their events.
        """
        if not self._followers:
            return ended
        found: list[Ended] = []
        for _, group in groupby(ended, self._group):
            entries = [entry for item in enumerate(group) for entry in self._all(*item)]
            found += [(number, record) for *_, number, record in sorted(entries)]
        return found

    def _group(self, ended: Ended) -> int:
        return int(self._image.arena[ended[1] + f.Q_ENDED_CAUSE]) >> f.GROUP_SHIFT

    def _all(self, place: int, ended: Ended) -> list[tuple[int, int, int, int]]:
        """A flow and those that took its times; of each what puts it in order comes first."""
        number, record = ended
        cause = int(self._image.arena[record + f.Q_ENDED_CAUSE])
        root = (cause & f.ROOT_MASK) >> f.ROOT_SHIFT
        found = [(root, place, number, record)]
        part = self._part.get(number)
        alike = part.found().alike if part is not None else None
        for follower in alike.followers if alike is not None else ():
            found.append((follower.own[root], place, follower.own[number], record))
        return found

    def _look_anew(self) -> None:
        """Look for alike parts again where the network is empty; unfold where that is due."""
        arena = self._image.arena
        if arena[f.NEARS_DRAW] and self._followers:
            self.unfold()
        arena[f.NEARS_DRAW] = 0  # in parts that stand for no others nobody need heed it
        if arena[f.LIVE] or arena[f.FLOWS_LEFT] or self._vain > _MOST_VAIN:
            return
        if self._is_off or self._is_stale or len(self._classes) > 1:
            self._vain = 0 if self._followers else self._vain + 1
            self.unfold()
            self._is_off = self._vain > _MOST_VAIN

    def _assigned(self, told: Iterable[int]) -> list[Part]:
        """Parts of the flows, once those that they join are one."""
        parts: dict[int, Part] = {}
        for number in told:
            part = self._part_of_pair.get(self._book.pairs[number])
            part = self._assign(number) if part is None else part.found()
            part.told.append(number)
            self._part[number] = part
            parts[id(part)] = part
        found = {id(part.found()): part.found() for part in parts.values()}
        return list(found.values())

    def _way(self, number: int) -> Way:
        return self._ways.of(self._book.pairs[number], self._book.ports[number])

    def _assign(self, number: int) -> Part:
        """The part of a flow whose way may be new."""
        way = self._way(number)
        touched = self._resources.of(way)
        owners = [self._owner[one].found() for one in touched if one in self._owner]
        part = owners[0] if owners else Part()
        for other in owners[1:]:
            if other.found() is not part:
                part = self._joined(part, other.found())
        for one in touched:
            if one not in self._owner:
                self._owner[one] = part
                part.owned.append(one)
        if way.is_kept:
            self._part_of_pair[self._book.pairs[number]] = part
        return part

    def _joined(self, one: Part, other: Part) -> Part:
        for part in (one, other):
            self._isolate(part)
        if len(other.owned) > len(one.owned):
            one, other = other, one
        if one.alike is not None and other.alike is not None:
            self._classes.remove(other.alike)
        one.join(other)
        if one.alike is not None:
            self._is_stale = True
        return one

    def _isolate(self, part: Part) -> None:
        """Let a part be the only one of its class."""
        alike = part.alike
        if alike is None or not alike.followers:
            return
        self._split(alike, list(alike.followers) if alike.leader is part else [part])

    def _split(self, alike: Class, members: list[Part]) -> None:
        """Let some followers be a class of their own."""
        first, others = members[0], members[1:]
        self._copy(alike, first)
        records = self._book.records
        for part in others:
            part.own = {first.own[leading]: number for leading, number in part.own.items()}
            for leading, number in part.own.items():
                records[number] = records[leading]
        first.own = {}
        alike.followers = [part for part in alike.followers if part not in members]
        new = Class(first, others, alike.agreed)
        for part in members:
            part.alike = new
        self._classes.append(new)
        self._followers -= 1
        self._is_stale = True
        self._note_followers()

    def _copy(self, alike: Class, follower: Part) -> None:
        Copy(self._image, self._book, self._resources, alike, follower).write(self._give_room)

    def _note_followers(self) -> None:
        self._image.arena[f.STANDS_FOR_OTHERS] = self._followers > 0

    def _match(self, parts: list[Part]) -> None:
        """Put new parts into classes, and take those out of theirs that are told something else."""
        new: dict[tuple[State, ...], Class] = {}
        classes: dict[int, Class] = {}
        for part in parts:
            if part.alike is not None:
                classes[id(part.alike)] = part.alike
                continue
            self._describe(part)
            key = tuple(part.descriptions)
            part.alike = new.get(key)
            if part.alike is None:
                part.alike = new[key] = Class(part)
                self._classes.append(part.alike)
            else:
                part.alike.followers.append(part)
                self._followers += 1
        for alike in classes.values():
            if alike.followers:
                self._sort_out(alike)
        for alike in [*new.values(), *classes.values()]:
            if alike.followers:
                self.most = max(self.most, 1 + len(alike.followers))
                for number in alike.leader.places:
                    self._resources.watch(number)
        self._note_followers()

    def _describe(self, part: Part) -> None:
        arena, book = self._image.arena, self._book
        lanes = int(arena[f.LANES])
        for number in part.told:
            pair = book.pairs[number]
            words = arena[pair : pair + f.PAIR_WORDS].tolist()
            target = int(arena[words[f.PAIR_TARGET] + f.NODE_ID])
            facts = (
                book.sizes[number], words[f.PAIR_WINDOW], words[f.PAIR_BASE_RTT_NS],
                words[f.PAIR_LINKS], (target + book.ports[number]) % lanes,
            )  # fmt: skip
            part.describe(pair, self._way(number), facts, self._resources)

    def _sort_out(self, alike: Class) -> None:
        """Split a class by what its parts were told."""
        leader = alike.leader
        by_told: dict[tuple[State, ...], list[Part]] = {}
        for part in (leader, *alike.followers):
            self._describe(part)
            by_told.setdefault(tuple(part.descriptions), []).append(part)
        for members in by_told.values():
            if leader not in members:
                self._split(alike, members)

    def _take_over(self, parts: list[Part]) -> None:
        """Mark the flows of followers as ones that do not start."""
        for part in parts:
            if part.alike is not None and part.alike.leader is not part:
                self.taken_over += len(part.told)
                for number in part.told:
                    self._book.records[number] = -1

    def _hand_on(self, parts: list[Part]) -> None:
        """Give the flows of followers the records of their leaders'."""
        records = self._book.records
        for part in parts:
            if part.alike is None or part.alike.leader is part:
                continue
            for leading, number in zip(part.alike.leader.told, part.told, strict=True):
                part.own[leading] = number
                records[number] = records[leading]
                self._image.arena[self._book.pairs[number] + f.PAIR_COUNT] += 1
        for part in parts:
            part.told, part.descriptions = [], []
            if part.alike is not None:
                part.alike.agreed = len(part.alike.leader.places)
