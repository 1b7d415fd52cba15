"""Tiers of memory outside the accelerators, and the time that data takes on its way there.

Three kinds have the rules of ASTRA-sim 2.0's remote memory: a request takes latency + bytes over
bandwidth, and a port that several NPUs share serves them one after the other. All NPUs at a port
ask at once, so that a transfer takes the time until the last of them is served. The fourth, a
hierarchical pool, is that of its paper: data streams through all levels of switches at the rate of
the slowest, and where switches reduce, replicas of the same data pass a level above them once.

Source: W. Won et al., "ASTRA-sim2.0", ISPASS 2023, section IV-D.
"""

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from simcore.errors import ConfigError
from simcore.schema import Bytes, BytesPerS, Schema, Seconds

TierName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class TierLevel(Schema):
    """Switches between NPUs and a pool: *npus* of them share a port of *bandwidth* each way."""

    npus: int = Field(ge=1)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)


class Tier(Schema):
    """Memory outside the accelerators.

    Attributes:
        kind: ``per_npu``: each NPU has its own; ``per_node``: those of a node share one port, and
            ``pool``: all do, which serves them one after the other; ``hierarchical``: a pool
            behind *levels* of switches.
        memory_bytes: Behind one port: of an NPU, of a node, or of the pool.
        bandwidth_bytes_per_s: Of a port, from the memory; of a hierarchical pool, of the memory.
        write_bandwidth_bytes_per_s: Into the memory; as the other way if not given.
        latency_s: Of a request.
        npus_per_node: That share a port, with ``per_node``.
        levels: Of a hierarchical pool, from the NPUs on.
        reduces: Switches of a hierarchical pool add up what replicas store, and copy what they
            load, so that it passes the levels above once.
        update_bytes_per_s: Rate at which processors beside the memory behind one port read and
            write optimizer state and weights; None: there are none.
        part: Priced part of which the memory consists, a name of ``configs/costs/parts``; empty: it
            is in the price of something else.
        port_part: Likewise of what connects one port; empty: nothing.
        ports: How many of these parts connect one port.
        source: Where the values come from.
    """

    kind: Literal["per_npu", "per_node", "pool", "hierarchical"]
    memory_bytes: Bytes = Field(alias="memory", gt=0)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    write_bandwidth_bytes_per_s: BytesPerS | None = Field(
        default=None, alias="write_bandwidth", gt=0
    )
    latency_s: Seconds = Field(default=0.0, alias="latency", ge=0, le=3600)
    npus_per_node: int | None = Field(default=None, ge=1)
    levels: tuple[TierLevel, ...] = ()
    reduces: bool = False
    update_bytes_per_s: BytesPerS | None = Field(default=None, alias="update_bandwidth", gt=0)
    part: str = ""
    port_part: str = ""
    ports: int = Field(default=1, ge=1)
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.kind == "per_node") != (self.npus_per_node is not None):
            rule = "is needed with kind: per_node, and goes with no other"
            raise ConfigError("npus_per_node", rule, got=self.npus_per_node)
        if self.kind != "hierarchical" and (self.levels or self.reduces):
            raise ConfigError("levels and reduces", "go with kind: hierarchical", got=self.kind)
        sizes = [level.npus for level in self.levels]
        if sizes != sorted(set(sizes)):
            raise ConfigError("levels", "must grow in npus from level to level", got=sizes)
        return self

    def sharers(self, npus: int) -> int:
        """NPUs that one port serves, of *npus* in all."""
        if self.kind == "per_npu":
            return 1
        return npus if self.npus_per_node is None else min(npus, self.npus_per_node)

    def holders(self, npus: int) -> int:
        """Memories of this kind in a machine of *npus*."""
        return -(-npus // self.sharers(npus))

    def transfer_ns(
        self, size_bytes: int, npus: int, distinct: Callable[[int], int], *, write: bool
    ) -> float:
        """Time in ns until all NPUs at a port have moved their data, not rounded.

        Args:
            size_bytes: Of each NPU.
            npus: Of the machine.
            distinct: How much of the data of so many neighbouring NPUs differs, in units of the
                data of one.
            write: Into the memory.
        """
        rate = self.bandwidth_bytes_per_s
        if write and self.write_bandwidth_bytes_per_s is not None:
            rate = self.write_bandwidth_bytes_per_s
        latency_ns = self.latency_s * 1e9
        if self.kind != "hierarchical":
            return self.sharers(npus) * float(int(latency_ns) + _ns(size_bytes, rate))
        ports = [(min(level.npus, npus), level.bandwidth_bytes_per_s) for level in self.levels]
        loads = [(self._passing(count, distinct), one) for count, one in [*ports, (npus, rate)]]
        return int(latency_ns) + max(_ns(count * size_bytes, one) for count, one in loads)

    def update_ns(self, size_bytes: int, npus: int, distinct: Callable[[int], int]) -> float:
        """Time in ns in which processors beside the memory read and write *size_bytes* per NPU.

        Raises:
            ConfigError: There are none.
        """
        if self.update_bytes_per_s is None:
            raise ConfigError("update_bandwidth", "is needed for update: tier", got=None)
        count = self._passing(self.sharers(npus), distinct)
        return _ns(count * size_bytes, self.update_bytes_per_s)

    def _passing(self, npus: int, distinct: Callable[[int], int]) -> int:
        return distinct(npus) if self.reduces else npus


def _ns(size_bytes: int, rate: float) -> float:
    """Whole ns, cut as ASTRA-sim does."""
    return float(int(size_bytes * 1e9 / rate))
