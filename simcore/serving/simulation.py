"""Latency and throughput of services."""

from simcore.engines.attribution import Attribution, Cause, Reason
from simcore.engines.classes.run import NodeTimes
from simcore.engines.decoding import pace_s
from simcore.memo import Memo
from simcore.serving.checks import ServiceChecks
from simcore.serving.result import Answering, Reading, ServiceResult
from simcore.serving.routes import CacheRoutes
from simcore.serving.service import Service
from simcore.serving.transfer import made_ns, transfer
from simcore.simulation import Simulator, attribute_run, runner_of

_GHZ = 1e9


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
        reading, answering = self._read(service), self._answer(service)
        routes = CacheRoutes.of(service)
        sent = transfer(routes, reading.made_ns, service.platform)
        return ServiceResult.of(reading, answering, sent, routes.request_bytes)

    def reading(self, service: Service, *, memory: bool = False, margin: float = 0.0) -> Reading:
        """The pool of *service* that reads, whatever the other one does; see ``simulate``."""
        self._checks.check_reading(service, memory=memory, margin=margin)
        return self._read(service)

    def answering(
        self, service: Service, *, memory: bool = False, margin: float = 0.0
    ) -> Answering:
        """The pool of *service* that answers, whatever the other one does; see ``simulate``."""
        self._checks.check_answering(service, memory=memory, margin=margin)
        return self._answer(service)

    def _read(self, service: Service) -> Reading:
        run = service.prefill_run

        def work_out() -> Reading:
            result, iteration = self._simulator.run(run, every_node=True)
            return Reading(
                result=result,
                made_ns=made_ns(_nodes(iteration.nodes)),
                apart_s=pace_s(runner_of(run, self._memo), run.workload, run.plan),
                batch=service.prefill.batch,
                npus=run.plan.npus,
            )

        return self._memo.of("pools that read", run.model_dump_json(), work_out)

    def _answer(self, service: Service) -> Answering:
        run = service.decode_run
        key = run.model_dump_json()
        result = self._memo.of("pools that answer", key, lambda: self._simulator.simulate(run))
        return Answering(
            result=result, batch=service.decode.batch, answer=service.answer, npus=run.plan.npus
        )


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


def _nodes(nodes: NodeTimes | None) -> NodeTimes:
    if nodes is None:
        raise AssertionError("every node was executed")
    return nodes
