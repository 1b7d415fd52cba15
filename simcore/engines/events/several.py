"""Several programs on one network outside the kernel, each by itself but for shared links."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simcore.engines.events.checks import check_inputs
from simcore.engines.events.engine_run import NEVER_NS, EngineRun, earliest
from simcore.engines.events.fold.relations import CannotFoldError
from simcore.engines.events.fold.run import fold
from simcore.engines.events.input import EngineInput, Ints, Representatives, all_npus
from simcore.engines.events.outside import HeldNetwork
from simcore.engines.events.run import output_of
from simcore.errors import ConfigError, SimulationError
from simcore.kernels.events import layout
from simcore.network import ExternalNetwork, Flow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgramRun:
    """Outcome of one program.

    Attributes:
        start_ns: (I,) when each iteration began.
        end_ns: (I,) when its last NPU had ended.
        sent_bytes: Bytes that it sent, by sender and receiver among the NPUs of the network; those
            for synthesised collectives as if each NPU sent them itself.
        scheduled_bytes: Bytes that synthesised collectives put on links of the network, by number.
    """

    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    sent_bytes: Counter[tuple[int, int]] = field(default_factory=Counter)
    scheduled_bytes: Counter[int] = field(default_factory=Counter)

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory that it takes."""
        return 1024 + 256 * (len(self.sent_bytes) + len(self.scheduled_bytes))


@dataclass(slots=True)
class _Job:
    """A program that runs, and how often it is to run still."""

    run: EngineRun
    left: int
    outcome: ProgramRun


class SharedRun:
    """Programs that run at once on one network.

    Args:
        inputs: Of each program; ``where`` says on which NPUs of the network its own run, and
            ``start_ns`` when they begin.
        iterations: Of each, how often it runs, the next time when all its NPUs have ended.
        network: Made for this run alone.
        simulated: NPUs of each program that are simulated; all of them unless given.

    Raises:
        ConfigError: An input breaks a rule.
    """

    def __init__(
        self,
        inputs: Sequence[EngineInput],
        iterations: Sequence[int],
        network: ExternalNetwork,
        simulated: Sequence[Representatives] | None = None,
    ) -> None:
        shared = [replace(one, network=network) for one in inputs]
        for one in shared:
            check_inputs(one)
        if simulated is None:
            simulated = [all_npus(one) for one in shared]
        self._network = HeldNetwork(type(network), shared[0])
        each = zip(shared, simulated, iterations, strict=True)
        self._jobs = [
            _Job(EngineRun(one, npus, number, len(shared)), times, ProgramRun())
            for number, (one, npus, times) in enumerate(each)
        ]

    def run(self) -> list[ProgramRun]:
        """Run all programs to their ends.

        Raises:
            CannotFoldError: NPUs that stand for others need not do as these would.
            SimulationError: NPUs wait for each other for ever, or the run is too long.
        """
        network = self._network
        while True:
            due_ns = network.next_event_ns()
            run, others_ns = earliest([job.run for job in self._jobs])
            until_ns = min(layout.LAST_NS if due_ns is None else due_ns - 1, others_ns)
            if run.is_amid or run.next_ns <= until_ns:
                self._go_on(run, until_ns)
            elif due_ns is not None:
                arrivals = network.advance(due_ns, min(run.next_ns, layout.LAST_NS))
                for at, arrival in enumerate(arrivals):
                    number = arrival.message % len(self._jobs)
                    self._jobs[number].run.take(arrival.time_ns, arrival.message, at)
            elif run.next_ns < NEVER_NS:
                raise SimulationError(f"the jobs last longer than {layout.LAST_NS} ns (73 years)")
            else:
                return self._ended()

    def _go_on(self, run: EngineRun, until_ns: int) -> None:
        job = next(job for job in self._jobs if job.run is run)
        run.go_on(until_ns)
        run.check_order()
        for source, target, size, work in run.hand_out(self._network):
            job.outcome.sent_bytes[source, target] += size
            if work is not None:
                loads = zip(work.links.tolist(), work.load_bytes.tolist(), strict=True)
                for link, load in loads:
                    job.outcome.scheduled_bytes[link] += load
        if not run.under_way and run.next_ns == NEVER_NS:
            self._end_iteration(job)

    def _end_iteration(self, job: _Job) -> None:
        """Note the end of an iteration, and begin the next one."""
        inputs, run = job.run.inputs, job.run
        output = output_of(run.arena, inputs, run.simulated)
        if output.waiting:
            raise SimulationError("; ".join(output.waiting[:4]))
        end_ns = int(output.finish_ns.max())
        start_ns = 0 if inputs.start_ns is None else int(inputs.start_ns.min())
        job.outcome.start_ns.append(start_ns)
        job.outcome.end_ns.append(end_ns)
        job.left -= 1
        if job.left:
            again = replace(inputs, start_ns=np.full(output.finish_ns.size, end_ns))
            job.run = run.again(again)

    def _ended(self) -> list[ProgramRun]:
        for job in self._jobs:
            if job.left:
                output = output_of(job.run.arena, job.run.inputs, job.run.simulated)
                raise SimulationError("; ".join(output.waiting[:4]) or "messages were lost")
        return [job.outcome for job in self._jobs]


def bytes_by_pair(outcome: ProgramRun) -> tuple[Ints, Ints, Ints]:
    """Senders, receivers and bytes of a program, each pair once."""
    pairs = sorted(outcome.sent_bytes)
    sizes = [outcome.sent_bytes[pair] for pair in pairs]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], np.array(sizes, np.int64)


def run_together(
    inputs: Sequence[EngineInput],
    iterations: Sequence[int],
    make_network: Callable[[], ExternalNetwork],
) -> list[ProgramRun]:
    """Run programs on one network; of NPUs that are alike one stands for all.

    Args:
        inputs: As for ``SharedRun``; and the following.
        iterations: Of each.
        make_network: Makes a network for one run.

    Raises:
        SimulationError: NPUs wait for each other for ever, or the run is too long.
    """
    try:
        return _run_folded(inputs, iterations, make_network())
    except (CannotFoldError, ConfigError):  # whose order may be another
        return SharedRun(inputs, iterations, make_network()).run()


def _run_folded(
    inputs: Sequence[EngineInput],
    iterations: Sequence[int],
    network: ExternalNetwork,
) -> list[ProgramRun]:
    shared = [replace(one, network=network) for one in inputs]
    for one in shared:
        check_inputs(one)
    folded = fold(shared)
    simulated = [npus for _, npus in folded]
    stand_ins = folded[0][0].network
    assert isinstance(stand_ins, Flow)
    outcomes = SharedRun(inputs, iterations, stand_ins, simulated).run()
    return [replace(one, sent_bytes=_of_all(one.sent_bytes, stand_ins)) for one in outcomes]


def _of_all(sent_bytes: Counter[tuple[int, int]], network: Flow) -> Counter[tuple[int, int]]:
    """Bytes of all pairs of NPUs, from those of the pairs that stand for them."""
    found = Counter[tuple[int, int]]()
    for (source, target), size in sent_bytes.items():
        sources, targets = network.stands_for(source, target)
        for pair in zip(sources.tolist(), targets.tolist(), strict=True):
            found[pair] += size
    return found
