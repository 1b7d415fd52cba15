"""simulate_service(): latency and throughput of a service."""

from simcore.checks import check_run
from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.errors import InfeasibleError
from simcore.serving.result import ServiceResult
from simcore.serving.routes import CacheRoutes
from simcore.serving.service import Service
from simcore.serving.transfer import transfer
from simcore.simulation import run_with_iteration, simulate_run
from simcore.system.decoding import pace_s
from simcore.system.iteration import IterationRunner, NodeTimes

MAX_PIECES = 10_000_000
"""Messages between the pools, each of one prompt, layer and pair of NPUs."""


def check_service(service: Service, *, memory: bool = True) -> None:
    """Check both pools before any simulation.

    Raises:
        ConfigError: A compute model that is none, or no peak for the precision.
        InfeasibleError: The first rule that is broken, with its name.
    """
    for pool, run in (("prefill", service.prefill_run), ("decode", service.decode_run)):
        try:
            check_run(run, memory=memory)
        except InfeasibleError as error:
            raise InfeasibleError(error.rule, f"{pool}: {error.reason}") from None
    if service.prefill.plan.cp > 1:
        reason = "prefill: a pool of a service takes cp 1 only"
        raise InfeasibleError("sequence_is_whole", reason)
    pieces = CacheRoutes.of(service).count
    if pieces > MAX_PIECES:
        reason = f"the cache travels in {pieces} pieces, and at most {MAX_PIECES} can be simulated"
        raise InfeasibleError("size_in_range", reason)


def simulate_service(service: Service) -> ServiceResult:
    """Simulate both pools and what travels between them.

    A design that needs more memory than there is can still be simulated; see ``check_service``.

    Raises:
        ConfigError: An input breaks a rule.
        InfeasibleError: A plan does not fit the model, or its pool the machine.
    """
    check_service(service, memory=False)
    run, routes = service.prefill_run, CacheRoutes.of(service)
    reading, iteration = run_with_iteration(run, every_node=True)
    sent = transfer(routes, _nodes(iteration.nodes), service.platform)
    answering = simulate_run(service.decode_run)
    first_s, token_s = reading.iteration_time_s, answering.iteration_time_s
    transfer_s = max(0.0, sent.arrival_ns * 1e-9 - first_s)
    later_s = (service.answer - 1) * token_s
    return ServiceResult(
        reading=reading,
        answering=answering,
        time_to_first_token_s=first_s,
        transfer_s=transfer_s,
        time_per_output_token_s=token_s,
        request_s=first_s + transfer_s + later_s,
        cache_bytes=routes.request_bytes,
        read_requests_per_s=service.prefill.batch / _apart_s(run),
        sent_requests_per_s=service.prefill.batch / (sent.busiest_ns * 1e-9),
        answered_requests_per_s=service.decode.batch / later_s,
        answer=service.answer,
        npus=service.platform.npus,
    )


def _apart_s(run: Run) -> float:
    """How far apart batches of prompts are that follow each other without a pause."""
    runner = IterationRunner(run.platform, run.system, COMPUTE_MODELS[run.compute]())
    return pace_s(runner, run.workload, run.plan)


def _nodes(nodes: NodeTimes | None) -> NodeTimes:
    if nodes is None:
        raise AssertionError("every node was executed")
    return nodes
