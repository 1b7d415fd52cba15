"""Checks of services before anything is simulated."""

from simcore.checks import RunChecks
from simcore.config import Run
from simcore.errors import InfeasibleError
from simcore.memo import Memo
from simcore.serving.routes import CacheRoutes
from simcore.serving.service import Service

MAX_PIECES = 10_000_000
"""Messages between the pools, each of one prompt, layer and pair of NPUs."""


class ServiceChecks:
    """Checks services, and remembers what the workload and the plan of a pool alone decide."""

    def __init__(self, memo: Memo | None = None) -> None:
        self._runs = RunChecks(memo)

    def check(self, service: Service, *, memory: bool = True, margin: float = 0.0) -> None:
        """See ``check_service``."""
        plans = service.prefill.plan, service.decode.plan
        check_pools_fill(plans[0].npus, plans[1].npus, service.platform.npus)
        self.check_reading(service, memory=memory, margin=margin)
        self.check_answering(service, memory=memory, margin=margin)
        _check_tiers(service)
        pieces = CacheRoutes.of(service).count
        if pieces > MAX_PIECES:
            reason = (
                f"the cache travels in {pieces} pieces, and at most {MAX_PIECES} can be simulated"
            )
            raise InfeasibleError("size_in_range", reason)

    def check_reading(self, service: Service, *, memory: bool = True, margin: float = 0.0) -> None:
        """See whether the pool that reads can do so, whatever the other one does."""
        self._check_pool("prefill", service.prefill_run, memory=memory, margin=margin)
        if service.prefill.plan.cp > 1:
            reason = "prefill: a pool of a service takes cp 1 only"
            raise InfeasibleError("sequence_is_whole", reason)

    def check_answering(
        self, service: Service, *, memory: bool = True, margin: float = 0.0
    ) -> None:
        """See whether the pool that answers can do so, whatever the other one does."""
        self._check_pool("decode", service.decode_run, memory=memory, margin=margin)

    def _check_pool(self, pool: str, run: Run, *, memory: bool, margin: float) -> None:
        try:
            self._runs.check(run, memory=memory, margin=margin)
        except InfeasibleError as error:
            raise InfeasibleError(error.rule, f"{pool}: {error.reason}") from None


def check_pools_fill(reading: int, answering: int, npus: int) -> None:
    """Check that pools of so many NPUs are a machine of *npus* together.

    Raises:
        InfeasibleError: They are not.
    """
    if reading + answering != npus:
        reason = f"both plans use {reading + answering} NPUs, and the platform has {npus}"
        raise InfeasibleError("pools_fill_machine", reason)


def check_service(service: Service, *, memory: bool = True) -> None:
    """Check both pools before any simulation.

    Raises:
        ConfigError: A compute model that is none, or no peak for the precision.
        InfeasibleError: The first rule that is broken, with its name.
    """
    ServiceChecks().check(service, memory=memory)


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
