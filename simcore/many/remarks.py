"""Remarks on designs that were simulated together, made for those that somebody asks about."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from simcore.engines.collectives.phases import stand_ins
from simcore.engines.collectives.placement import Placement
from simcore.engines.iteration import held_note
from simcore.engines.machine_times import stand_ins_of
from simcore.engines.stages.times import place_groups
from simcore.machine import Dimension
from simcore.many.groups import Outcomes
from simcore.many.parts import Numbered
from simcore.many.together import Together
from simcore.memory.fit import MemoryFit
from simcore.memory.runtime import runtime_memory
from simcore.result import HEAD, NS, use_of
from simcore.simulation import overloads
from simcore.terms import CollectiveKind

Pair = tuple[CollectiveKind, Placement]
"""Kind of collectives, and where a group of them lies."""

Used = tuple[Pair, ...]

_stand_ins = lru_cache(4096)(stand_ins)


@dataclass(slots=True, eq=False)
class Remarked:
    """Remarks that many designs share; grows.

    Attributes:
        stand_ins: Notes on algorithms that stand in for others, by what collectives do and where,
            the algorithms, and the topologies of the dimensions.
        used: Number of what the collectives of a plan do and where, by its number and the sizes of
            dimensions.
        pairs: What collectives do and where.
        fits: Verdicts on memory by number of a plan and the bytes of an accelerator.
    """

    stand_ins: dict[tuple[object, ...], tuple[str, ...]] = field(default_factory=dict)
    used: dict[tuple[int, ...], int] = field(default_factory=dict)
    pairs: Numbered[Used] = field(default_factory=Numbered)
    fits: dict[tuple[int, float], MemoryFit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remarks:
    """Remarks on the designs of one block that have results.

    Attributes:
        together: The designs.
        outcomes: Theirs.
        known: What designs of other blocks share with these.
    """

    together: Together
    outcomes: Outcomes
    known: Remarked

    def names(self, at: int) -> tuple[str, ...]:
        """Names of the metrics of the design *at*, in the order of ``IterationResult.metrics``."""
        times = self.outcomes.names.things[self.outcomes.named[at]]
        dimensions = self.together.part.dimensions.shape[1]
        return (*HEAD, *times, *[f"utilization_dim{d}" for d in range(dimensions)])

    def notes(self, at: int) -> tuple[str, ...]:
        """Notes on the design *at*, as ``IterationResult`` has them."""
        one, end_ns = self.together, int(self.outcomes.end_ns[at])
        plan = one.plans[int(one.part.work[at])]
        system = one.parts.systems.things[one.part.system[at]]
        held_ns, notes = int(one.times.held_ns[at]), [*self._stand_ins(at)]
        if held_ns and system.phase_end == "together":
            notes.append(held_note(held_ns, end_ns))
        dimensions = [one.parts.dimensions.things[d] for d in one.part.dimensions[at].tolist()]
        loads = [
            use_of(passed, dimension.usable_bandwidth_bytes_per_s, end_ns * NS)
            for passed, dimension in zip(one.times.link_bytes[at].tolist(), dimensions, strict=True)
        ]
        return (*notes, *plan.workload.notes(plan.plan), *overloads(loads))

    def memory_fit(self, at: int) -> MemoryFit:
        """Verdict on the memory of the design *at*."""
        one, fits = self.together, self.known.fits
        work, accelerator = int(one.part.work[at]), one.part.accelerator[at]
        key = work, one.parts.accelerators.things[accelerator][0].memory_bytes
        if key not in fits:
            plan = one.plans[work]
            runtime = runtime_memory(plan.workload, plan.plan, plan.needed)
            fits[key] = MemoryFit.of(plan.needed, runtime, key[1])
        return fits[key]

    def _stand_ins(self, at: int) -> tuple[str, ...]:
        one = self.together
        work, system = int(one.part.work[at]), one.parts.systems.things[one.part.system[at]]
        dimensions = [one.parts.dimensions.things[d] for d in one.part.dimensions[at].tolist()]
        topologies = [each.topology for each in dimensions]
        algorithms = system.all_reduce, system.all_gather, system.reduce_scatter, system.all_to_all
        used = self._used(work, dimensions)
        key = used, *algorithms, *topologies
        known = self.known.stand_ins
        if key not in known:
            notes = [
                note
                for kind, place in self.known.pairs.things[used]
                for note in _stand_ins(kind, place, system.algorithms(kind, topologies))
            ]
            known[key] = tuple(dict.fromkeys(notes))
        return known[key]

    def _used(self, work: int, dimensions: Sequence[Dimension]) -> int:
        """Number of the kinds of a plan's collectives and their groups' places on *dimensions*."""
        key = work, *[each.npus for each in dimensions]
        if key not in self.known.used:
            program, found = self.together.plans[work].known.program, list[Pair]()

            def note(kind: CollectiveKind, place: Placement) -> tuple[str, ...]:
                found.append((kind, place))
                return ()

            stand_ins_of(program, place_groups(program.groups, dimensions), note)
            self.known.used[key] = self.known.pairs.number(tuple(found))
        return self.known.used[key]
