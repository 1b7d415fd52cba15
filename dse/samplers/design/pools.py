"""The pools of one lesson: children of the best, neighbours of the front, and uniform draws."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from numpy.random import Generator

from dse.samplers.design.archive import Archive
from dse.samplers.design.breeder import Breeder
from dse.samplers.design.columns.genomes import Floats, Genome, Genomes
from dse.samplers.design.elite import Elite
from dse.samplers.design.pool import Hopes, Pool, Weights
from dse.samplers.design.settings import Settings

_LUCK = {"near": 2, "fresh": 3}
"""Kinds of luck that pools are filled with."""

_LEAST = 16
"""Designs that are bred at once for a pool, at least; each further time twice as many."""

_REFILLS = {"untried": 1, "bred": 1, "near": 3, "fresh": 11}
"""Times that a pool is filled while nothing in it will do: then no more is expected of it."""

_HOPEFUL_REFILLS = {"untried": 1, "bred": 1, "near": 3, "fresh": 1}
"""Likewise, while a design that may still win is looked for."""

Accept = Callable[[Genome], bool]


class Luck(Protocol):
    """Sources of luck, each for one use."""

    def __call__(self, told: int, kind: int, number: int = 0) -> Generator: ...


class Pools:
    """Places in which designs wait until they are asked for.

    Pools of neighbours and of uniform draws are filled when they are first asked, and again when
    nothing in them will do; what comes depends on the lesson and on how often, on nothing else.
    """

    def __init__(
        self,
        breeder: Breeder,
        settings: Settings,
        *,
        archive: Archive,
        hopes: Hopes | None,
        since: int,
        generator: Luck,
    ) -> None:
        """Pools of uniform draws alone; see ``Pool`` for *archive*, *hopes* and *since*."""
        self._breeder, self._settings = breeder, settings
        self._archive, self._hopes, self._since = archive, hopes, since
        self._generator = generator
        self._elite: Elite | None = None
        self._first = {"near": _LEAST, "fresh": 2 * settings.initial}
        self._pools: dict[str, list[Pool]] = {"untried": [], "bred": [], "near": [], "fresh": []}

    @property
    def is_filled(self) -> bool:
        """True if there are more than uniform draws."""
        return self._elite is not None

    def fill(
        self, elite: Elite, results: int, bred: Genomes | None, promise: Floats | None
    ) -> None:
        """Begin a lesson of so many *results*, with *elite* and what was *bred* from it.

        *promise*: of the bred, as for ``Pool``.
        """
        self._elite, settings = elite, self._settings
        self._first = {
            "near": max(_LEAST, int(2 * settings.local * results)),
            "fresh": max(_LEAST, int(2 * settings.drawn(self._since) * results)),
        }
        if bred is not None and len(bred):
            self._pools["bred"] = [self._pool(bred, promise)]

    def offer(self, untried: Genomes, promise: Floats) -> None:
        """Take designs with rows of the largest block that nobody has tried."""
        self._pools["untried"] = [self._pool(untried, promise)]

    def best(self, kinds: Sequence[str], accept: Accept, weights: Weights | None) -> Genome | None:
        """The best design of the first of *kinds* that has one; what may win comes first."""
        for hopeful in (True, False) if self._hopes is not None else (False,):
            for kind in kinds:
                most = _HOPEFUL_REFILLS if hopeful else _REFILLS
                for pool in self._of(kind, most[kind]):
                    found = pool.best(accept, weights, hopeful=hopeful)
                    if found is not None:
                        return found
        return None

    def _of(self, kind: str, most: int) -> Iterator[Pool]:
        """The pools of a kind, *most* at most, made when they are reached."""
        pools = self._pools[kind]
        for number in range(most):
            if number >= len(pools):
                if kind in ("untried", "bred"):
                    return
                pools.append(self._made(kind, number))
            yield pools[number]

    def _made(self, kind: str, number: int) -> Pool:
        size, rng = self._first[kind] << number, self._generator(self._since, _LUCK[kind], number)
        if kind == "fresh":
            return self._pool(self._breeder.drawn(size, rng))
        assert self._elite is not None, "neighbours are asked for once there is a front"
        return self._pool(self._breeder.neighbours(self._elite, size, number, rng))

    def _pool(self, genomes: Genomes, promise: "Weights | None" = None) -> Pool:
        return Pool(genomes, self._archive, self._hopes, self._since, promise)
