"""Latency and throughput of services."""

from dataclasses import dataclass
from itertools import zip_longest

from simcore.checks import RunChecks
from simcore.config import Run
from simcore.engines.attribution import Attribution, Cause, Reason
from simcore.engines.classes.run import NodeTimes
from simcore.engines.decoding import pace_s
from simcore.errors import InfeasibleError
from simcore.memo import Memo
from simcore.result import IterationResult
from simcore.serving.result import ServiceResult
from simcore.serving.service import Service
from simcore.serving.transfer import CacheRoutes, made_ns, transfer
from simcore.simulation import Simulator, attribute_run, runner_of

_GHZ = 1e9

MAX_PIECES = 10_000_000
"""Messages between the pools, each of one prompt, layer and pair of NPUs."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A batch of prompts on the pool that reads them.

    Attributes:
        result: Its time and memory.
        made_ns: When the keys and values of each micro-batch and layer are there.
        apart_s: How far apart batches are that follow each other without a pause.
    """

    result: IterationResult
    made_ns: dict[tuple[int, int], int]
    apart_s: float


class ServiceSimulator:
    """Simulates services one after another, and keeps what they have in common.

    A pool is simulated once, whatever the other one does. Results are those of
    ``simulate_service``, only sooner.
    """

    def __init__(self) -> None:
        self._memo = Memo()
        self._checks, self._simulator = RunChecks(self._memo), Simulator(self._memo)

    def check(self, service: Service, *, memory: bool = True, margin: float = 0.0) -> None:
        """See ``check_service``."""
        npus = service.prefill.plan.npus + service.decode.plan.npus
        if npus != service.platform.npus:
            reason = f"both plans use {npus} NPUs, and the platform has {service.platform.npus}"
            raise InfeasibleError("pools_fill_machine", reason)
        for pool, run in (("prefill", service.prefill_run), ("decode", service.decode_run)):
            try:
                self._checks.check(run, memory=memory, margin=margin)
            except InfeasibleError as error:
                raise InfeasibleError(error.rule, f"{pool}: {error.reason}") from None
        _check_tiers(service)
        if service.prefill.plan.cp > 1:
            reason = "prefill: a pool of a service takes cp 1 only"
            raise InfeasibleError("sequence_is_whole", reason)
        pieces = CacheRoutes.of(service).count
        if pieces > MAX_PIECES:
            reason = (
                f"the cache travels in {pieces} pieces, and at most {MAX_PIECES} can be simulated"
            )
            raise InfeasibleError("size_in_range", reason)

    def simulate(
        self, service: Service, *, memory: bool = False, margin: float = 0.0
    ) -> ServiceResult:
        """Simulate *service*; see ``simulate_service``.

        Args:
            service: What to simulate.
            memory: Refuse a service whose pools need more memory than there is.
            margin: Part of the memory that its pools have to leave.
        """
        self.check(service, memory=memory, margin=margin)
        read, answering = self._read(service.prefill_run), self._answer(service.decode_run)
        routes = CacheRoutes.of(service)
        sent = transfer(routes, read.made_ns, service.platform)
        first_s, token_s = read.result.iteration_time_s, answering.iteration_time_s
        transfer_s = max(0.0, sent.arrival_ns * 1e-9 - first_s)
        later_s = (service.answer - 1) * token_s
        return ServiceResult(
            reading=read.result,
            answering=answering,
            time_to_first_token_s=first_s,
            transfer_s=transfer_s,
            time_per_output_token_s=token_s,
            request_s=first_s + transfer_s + later_s,
            cache_bytes=routes.request_bytes,
            read_requests_per_s=service.prefill.batch / read.apart_s,
            sent_requests_per_s=service.prefill.batch / (sent.busiest_ns * 1e-9),
            answered_requests_per_s=service.decode.batch / later_s,
            answer=service.answer,
            npus=service.platform.npus,
            link_loads=_loads(read, answering),
        )

    def _read(self, run: Run) -> _Reading:
        def work_out() -> _Reading:
            result, iteration = self._simulator.run(run, every_node=True)
            return _Reading(
                result=result,
                made_ns=made_ns(_nodes(iteration.nodes)),
                apart_s=pace_s(runner_of(run, self._memo), run.workload, run.plan),
            )

        return self._memo.of("pools that read", run.model_dump_json(), work_out)

    def _answer(self, run: Run) -> IterationResult:
        key = run.model_dump_json()
        return self._memo.of("pools that answer", key, lambda: self._simulator.simulate(run))


def check_service(service: Service, *, memory: bool = True) -> None:
    """Check both pools before any simulation.

    Raises:
        ConfigError: A compute model that is none, or no peak for the precision.
        InfeasibleError: The first rule that is broken, with its name.
    """
    ServiceSimulator().check(service, memory=memory)


def simulate_service(service: Service) -> ServiceResult:
    """Simulate both pools and what travels between them.

    A design that needs more memory than there is can still be simulated; see ``check_service``.

    Raises:
        ConfigError: An input breaks a rule.
        InfeasibleError: A plan does not fit the model, or its pool the machine.
    """
    return ServiceSimulator().simulate(service)


def attribute_service(service: Service) -> tuple[Attribution, ...]:
    """Time of a request, of a batch of prompts and of a step that answers, by reason.

    Requests do not queue up here: they come as fast as the slowest pool lets them pass.

    Raises:
        ConfigError, InfeasibleError: As ``simulate_service``.
    """
    result = simulate_service(service)
    seconds = (result.time_to_first_token_s, result.transfer_s, 0.0)
    read_ns, sent_ns, queued_ns = (round(each * _GHZ) for each in seconds)
    answered_ns = round(result.request_s * _GHZ) - read_ns - sent_ns - queued_ns
    spent = {"prefill": read_ns, "transfer": sent_ns, "queue": queued_ns, "answer": answered_ns}
    request = Attribution(
        what="a request",
        way="from the start of its reading to the end of its answer",
        parts_ns={Reason(Cause.SERVICE, name): time_ns for name, time_ns in spent.items()},
    )
    read = attribute_run(service.prefill_run, "a batch of prompts")
    return request, read, attribute_run(service.decode_run, "a step that answers")


def _loads(read: _Reading, answering: IterationResult) -> tuple[float, ...]:
    """Per dimension, the load of the pool that loads its links more; batches may overlap."""
    faster = read.result.iteration_time_s / read.apart_s
    reading = [load * faster for load in read.result.link_loads]
    return tuple(map(max, zip_longest(reading, answering.link_loads, fillvalue=0.0)))


def _nodes(nodes: NodeTimes | None) -> NodeTimes:
    if nodes is None:
        raise AssertionError("every node was executed")
    return nodes


def _check_tiers(service: Service) -> None:
    """Check that no port of a tier of memory serves NPUs of both pools, which meet nowhere here.

    Raises:
        InfeasibleError: One does.
    """
    pools = service.prefill.plan, service.decode.plan
    for name in pools[0].offload.tiers:
        if name not in pools[1].offload.tiers:
            continue
        sharers = service.platform.tier(name).sharers(service.platform.npus)
        if pools[0].npus % sharers:
            reason = f"both pools use tier {name}, of which one port serves NPUs of both"
            raise InfeasibleError("pools_share_no_port", reason)
