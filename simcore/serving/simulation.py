"""Latency and throughput of services."""

from dataclasses import dataclass
from itertools import zip_longest

from simcore.config import Run
from simcore.engines.attribution import Attribution, Cause, Reason
from simcore.engines.classes.run import NodeTimes
from simcore.engines.decoding import pace_s
from simcore.memo import Memo
from simcore.result import IterationResult
from simcore.serving.checks import ServiceChecks
from simcore.serving.result import ServiceResult
from simcore.serving.routes import CacheRoutes
from simcore.serving.service import Service
from simcore.serving.transfer import made_ns, transfer
from simcore.simulation import Simulator, attribute_run, runner_of

_GHZ = 1e9


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
        self._checks, self._simulator = ServiceChecks(self._memo), Simulator(self._memo)

    def prepare(self) -> None:
        """Get memory for the runs beforehand, so that the first one is no slower for it."""
        self._simulator.prepare()

    def simulate(
        self, service: Service, *, memory: bool = False, margin: float = 0.0
    ) -> ServiceResult:
        """Simulate *service*; see ``simulate_service``.

        Args:
            service: What to simulate.
            memory: Refuse a service whose pools need more memory than there is.
            margin: Part of the memory that its pools have to leave.
        """
        self._checks.check(service, memory=memory, margin=margin)
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
