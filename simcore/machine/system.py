"""Data movement: the part of a design between the plan and the network."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simcore.collectives import ALGORITHMS, SYNTHESISED, algorithm_named
from simcore.errors import ConfigError
from simcore.machine.movers import known_mover
from simcore.registry import Registry
from simcore.schema import Schema, Seconds
from simcore.terms import EVERYWHERE, CollectiveKind
from simcore.topologies import TOPOLOGIES

BY_TOPOLOGY = "by_topology"
"""Stands for the algorithm that suits a dimension's topology."""

ALGORITHM_KEYS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "barrier",
)


def _as_vector(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _known_algorithms(value: tuple[str, ...]) -> tuple[str, ...]:
    for position, name in enumerate(value):
        try:
            if name != BY_TOPOLOGY:
                algorithm_named(name)
        except ConfigError as error:
            rule = error.rule.replace("one of ", f"one of {BY_TOPOLOGY}, {SYNTHESISED}, ", 1)
            raise ConfigError(error.at, rule, got=error.got).under(f"[{position}]") from None
    return value


_SOME_MEMBERS = (2, 3, 4, 5, 6, 8, 16, 64)


def _check_serves(key: str, value: tuple[str, ...]) -> None:
    """Refuse what does no collective of *key* among any number of members: another would do it all.

    Raises:
        ConfigError: Names the collectives that it does.
    """
    for position, name in enumerate(value):
        by_topology = name == BY_TOPOLOGY and CollectiveKind[key.upper()] in EVERYWHERE
        served = () if name == BY_TOPOLOGY else _collectives_of(name)
        if not by_topology and CollectiveKind[key.upper()] not in served:
            keys = " and ".join(kind.name.lower() for kind in served)
            what = f"a{'n' if key[0] == 'a' else ''} {key.replace('_', '-')}"
            rule = f"must be an algorithm that does {what}; {name} serves {keys or 'none'}"
            raise ConfigError(f"[{position}]", rule, got=name)


@lru_cache(maxsize=64)
def _collectives_of(name: str) -> tuple[CollectiveKind, ...]:
    """Kinds of collectives that an algorithm does among some number of members."""
    algorithm = algorithm_named(name)
    kinds = [CollectiveKind[key.upper()] for key in ALGORITHM_KEYS]
    return tuple(
        kind for kind in kinds if any(algorithm.runs(kind, members) for members in _SOME_MEMBERS)
    )


AlgorithmVector = Annotated[
    tuple[str, ...],
    Field(
        min_length=1,
        description=(
            "one algorithm per dimension, or one for all: "
            f"{', '.join((BY_TOPOLOGY, *ALGORITHMS))}, direct<window>, hierarchical<group>, "
            f"rail_aligned<server>, blue_connect<factor>x<factor>, chain<pieces>, {SYNTHESISED}"
        ),
    ),
    BeforeValidator(_as_vector, json_schema_input_type=str | tuple[str, ...]),
]


class ExecutionProfile(Schema):
    """Concurrency of one NPU.

    Attributes:
        compute_slots: Compute nodes under way at once.
        communication_streams: Collectives, sends and memory nodes under way at once.
    """

    compute_slots: int = Field(ge=1)
    communication_streams: int = Field(ge=1)


EXECUTION_PROFILES: Registry[ExecutionProfile] = Registry(
    "execution profile",
    {
        # ASTRA-sim 2.0's rule: one of each; folded collectives never meet another on their way,
        # so a profile with more streams also needs them simulated together
        "astra_sim": ExecutionProfile(compute_slots=1, communication_streams=1),
        # what GPU libraries do: tensor, data and pipeline traffic each on a stream of its own
        "streams": ExecutionProfile(compute_slots=1, communication_streams=4),
    },
)


class System(Schema):
    """Chunking, scheduling and algorithms of the collectives.

    Attributes:
        scheduling: Order of the collectives that wait for a queue.
        collective_optimization: ``baseline`` runs a whole all-reduce per dimension;
            ``local_bw_aware`` reduce-scatters inwards-out and gathers back (BlueConnect).
        inter_dimension: Order in which the chunks of a collective pass the dimensions:
            ``ascending``; ``round_robin`` (chunk i starts at the i-th); ``offline_greedy`` (Themis:
            where the chunks before have put the least load).
        chunks: Pieces that a collective's buffer is cut into.
        active_chunks_per_dimension: Pieces that one dimension works on at once.
        endpoint_delay_s: Time that an NPU needs to handle one step's message.
        all_reduce: Algorithm per dimension; one name means every dimension. ``by_topology``: ring
            on a ring, direct if fully connected, halving-doubling through a switch.
            ``synthesised``: a schedule made for the members on a network that is a graph.
        all_gather: Likewise; by default as ``all_reduce``.
        reduce_scatter: Likewise; by default as ``all_reduce``.
        all_to_all: Likewise; by default ``direct``.
        broadcast: Likewise, of an algorithm for rooted collectives; by default ``binomial``.
        reduce: Likewise.
        gather: Likewise.
        scatter: Likewise.
        barrier: Likewise; by default ``dissemination``.
        execution: What an NPU does at once, by name.
        phase_end: When an NPU may go on after a phase that does not end everywhere at once (of a
            tree, of a ring on part of a ring dimension). ``each``: as soon as it is done itself,
            which needs every NPU to be simulated, and in which members that take their chunks in
            different orders can wait for each other for ever, as in ASTRA-sim; ``together``: when
            the phase's last member is done, which keeps NPUs alike, and is fast.
        mover: Engine of the accelerator that carries out communication, one of its ``movers``:
            what that takes of cores and memory bandwidth, computes beside it lose. If not given,
            links and computes run as they were calibrated, beside each other and without loss.
        reducer: Likewise of all-reduces, reduce-scatters and reduces; by default ``mover``.
        mover_cores: Cores that engines of that kind take; by default as the accelerator says.
    """

    scheduling: Literal["lifo", "fifo"] = "lifo"
    collective_optimization: Literal["baseline", "local_bw_aware"] = "local_bw_aware"
    inter_dimension: Literal["ascending", "round_robin", "offline_greedy"] = "ascending"
    chunks: int = Field(default=4, ge=1, le=4096)
    active_chunks_per_dimension: int = Field(default=1, ge=1, le=4096)
    endpoint_delay_s: Seconds = Field(default=10e-9, alias="endpoint_delay", ge=0)
    all_reduce: AlgorithmVector = (BY_TOPOLOGY,)
    all_gather: AlgorithmVector | None = None
    reduce_scatter: AlgorithmVector | None = None
    all_to_all: AlgorithmVector = ("direct",)
    broadcast: AlgorithmVector = ("binomial",)
    reduce: AlgorithmVector = ("binomial",)
    gather: AlgorithmVector = ("binomial",)
    scatter: AlgorithmVector = ("binomial",)
    barrier: AlgorithmVector = ("dissemination",)
    execution: str = "astra_sim"
    phase_end: Literal["each", "together"] = "each"
    mover: str = ""
    reducer: str = ""
    mover_cores: int | None = Field(default=None, ge=1)

    def model_post_init(self, _context: object) -> None:
        self._check_movers()
        if self.execution not in EXECUTION_PROFILES:
            raise EXECUTION_PROFILES.unknown(self.execution, at="execution")
        for key in ALGORITHM_KEYS:
            try:
                _known_algorithms(getattr(self, key) or ())
                if key == "all_reduce" or CollectiveKind[key.upper()] not in EVERYWHERE:
                    _check_serves(key, getattr(self, key))
            except ConfigError as error:
                raise error.under(key) from None

    def _check_movers(self) -> None:
        for key in ("mover", "reducer"):
            try:
                if name := getattr(self, key):
                    known_mover(name)
            except ConfigError as error:
                raise error.under(key) from None
        for key in ("reducer", "mover_cores"):
            if getattr(self, key) and not self.mover:
                raise ConfigError(key, "needs a mover beside it", got=getattr(self, key))

    @property
    def profile(self) -> ExecutionProfile:
        """Concurrency of an NPU."""
        return EXECUTION_PROFILES[self.execution]

    @property
    def endpoint_delay_ns(self) -> int:
        """The endpoint delay in whole nanoseconds."""
        return round(self.endpoint_delay_s * 1e9)

    def algorithms(self, kind: CollectiveKind, topologies: Sequence[str]) -> tuple[str, ...]:
        """The algorithm of each dimension for one kind of collective.

        Args:
            kind: The kind.
            topologies: Of the dimensions.

        Raises:
            ConfigError: The vector has neither one entry nor one per dimension.
        """
        return tuple(
            TOPOLOGIES[topology].algorithm if name == BY_TOPOLOGY else name
            for name, topology in zip(self.vector(kind, len(topologies)), topologies, strict=True)
        )

    def vector(self, kind: CollectiveKind, dimensions: int) -> tuple[str, ...]:
        """The names given for one kind of collective, one for each of the *dimensions*.

        Raises:
            ConfigError: The vector has neither one entry nor one per dimension.
        """
        key = kind.name.lower()
        given: tuple[str, ...] = getattr(self, key, None) or self.all_reduce
        if len(given) == 1:
            given *= dimensions
        if len(given) != dimensions:
            rule = f"must hold one algorithm, or one per dimension ({dimensions})"
            raise ConfigError(f"system.{key}", rule, got=list(given))
        return given
