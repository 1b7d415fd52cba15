"""One accelerator: how fast it computes, what it holds, draws and costs."""

from typing import Annotated, Self

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from simcore.errors import ConfigError, InfeasibleError
from simcore.machine.array import SystolicArray
from simcore.machine.dimension import TopologyName
from simcore.machine.kernel_folder import KernelFolder
from simcore.machine.movers import Mover, MoverTable
from simcore.schema import Bytes, BytesPerS, FlopPerS, Schema, Seconds, Usd, UsdPerHour, Watts
from simcore.terms import Precision

OWN_VALUE = "own value"
"""Source of values that name none; those of shipped accelerators all name one."""

LONGEST_S = 3600.0
"""Longest time that a kernel may cost whatever its size; real ones cost microseconds."""

MOST_PROCESSORS = 10**9
"""Cores of one accelerator; a whole wafer has a million."""

MOST_KEYS = 1e9
"""Keys per query at which attention may still be far from its best; real kernels need thousands."""

MOST_TIMES = 1e3
"""Times its least bytes that a kernel may move; real ones move a few times as much."""

MOST_PER_ELEMENT = 1e6
"""Multiply-adds or bytes that one element may cost beside its own; real ones cost hundreds."""


class Efficiency(Schema):
    """Part of its peaks that an accelerator reaches, and how that falls for small kernels.

    Those that tell of software (``issue_s``, ``casts``, ``attention_share``, ``traffic``,
    ``routing``, ``routing_s``, ``group_s``) come from a stack where the accelerator or the run
    names one.

    Attributes:
        gemm: Part of peak FLOP/s of a large dense matrix product, in (0, 1].
        gemm_narrow: Likewise of products in formats below 16 bits; as ``gemm`` if not given.
        gemm_fp4: Likewise in 4 bits; as ``gemm_narrow`` if not given.
        gemm_ramp_s: Extra time of a matrix product, whatever its size: a product that would
            take this long at ``gemm`` times the peak reaches half of that rate.
        attention: Part of peak FLOP/s of a long fused attention kernel, in (0, 1].
        attention_half: Keys per query with which such a kernel reaches half of that; 0: any number
            will do.
        attention_width: Elements of a head whose products take as long as the rest of the work on a
            score, its exponential above all; ``attention`` is that of heads of 128. 0: any width
            will do.
        attention_backward: Rate of its backward pass over that of the forward pass, in (0, 1].
        attention_portable: What it reaches where it is written for any accelerator, without the
            instructions of this one; as ``attention`` if not given.
        scan: Likewise of a state space scan; as ``attention`` if not given.
        unfused_attention: Likewise of the products of attention that stores its scores; as
            ``attention`` if not given.
        misaligned: What is left of that where heads are not a multiple of 16 bytes wide.
        memory: Part of the memory bandwidth that a streaming kernel reaches, in (0, 1].
        product_memory: Likewise of a matrix product that waits for its operands; as ``memory`` if
            not given.
        kernel_overhead_s: Start and drain of any kernel.
        issue_s: Time in which the host issues one kernel; it works ahead of the accelerator, which
            is idle where its kernels end sooner.
        processors: Cores among which the tiles of a product are dealt out, a full round taking as
            long as a partial one; 0: no such rounds.
        operand_cost: Multiply-adds that a processor could do while an element of an operand
            comes in; a tile with short edges brings in more elements per multiply-add.
        tile_fill: Multiply-adds per element of a tile that filling and emptying it costs.
        casts: Times that the operands of a product below 16 bits are moved to change their format,
            in bytes per element.
        group_s: Extra time of each product but the first where one kernel does many, as of experts.
        attention_share: Part of the rate of the best fused attention that the kernels in use reach.
        traffic: Bytes that element-wise kernels move over those that must be moved.
        routing, routing_s: Likewise of choosing experts and sorting tokens; time per step of that
            in which nothing else runs.
    """

    gemm: float = Field(gt=0, le=1)
    gemm_narrow: float | None = Field(default=None, gt=0, le=1)
    gemm_fp4: float | None = Field(default=None, gt=0, le=1)
    gemm_ramp_s: Seconds = Field(alias="gemm_ramp", ge=0, le=LONGEST_S)
    attention: float = Field(gt=0, le=1)
    attention_half: float = Field(default=0.0, ge=0, le=MOST_KEYS)
    attention_width: float = Field(default=0.0, ge=0, le=MOST_PER_ELEMENT)
    attention_backward: float = Field(default=1.0, gt=0, le=1)
    attention_portable: float | None = Field(default=None, gt=0, le=1)
    scan: float | None = Field(default=None, gt=0, le=1)
    unfused_attention: float | None = Field(default=None, gt=0, le=1)
    misaligned: float = Field(default=1.0, gt=0, le=1)
    memory: float = Field(gt=0, le=1)
    product_memory: float | None = Field(default=None, gt=0, le=1)
    kernel_overhead_s: Seconds = Field(alias="kernel_overhead", ge=0, le=LONGEST_S)
    issue_s: Seconds = Field(default=0.0, alias="issue", ge=0, le=LONGEST_S)
    processors: int = Field(default=0, ge=0, le=MOST_PROCESSORS)
    operand_cost: float = Field(default=0.0, ge=0, le=MOST_PER_ELEMENT)
    tile_fill: float = Field(default=0.0, ge=0, le=MOST_PER_ELEMENT)
    casts: float = Field(default=0.0, ge=0, le=MOST_PER_ELEMENT)
    group_s: Seconds = Field(default=0.0, alias="group", ge=0, le=LONGEST_S)
    attention_share: float = Field(default=1.0, gt=0, le=1)
    traffic: float = Field(default=1.0, ge=1, le=MOST_TIMES)
    routing: float = Field(default=1.0, ge=1, le=MOST_TIMES)
    routing_s: Seconds = Field(default=0.0, alias="routing_time", ge=0, le=LONGEST_S)


def _name_or_folder(value: object) -> str | KernelFolder:
    if isinstance(value, KernelFolder) or (isinstance(value, str) and value.strip()):
        return value
    raise ValueError("must be the name of shipped tables or the path of a folder, such as ./mine")


def _told(tables: str | KernelFolder) -> str:
    return tables if isinstance(tables, str) else f"{tables.path} ({tables.digest})"


class MeasuredBy(Schema):
    """Measured kernels of an accelerator.

    Attributes:
        tables: A folder of ``configs/kernels`` by its name, or the path of one of the user's own
            (with a ``/``), below the folder of the file that names it.
        engine: Whose kernels run, a name in the tables; empty: the fastest of any engine.
        any_engine: Kinds of kernels, by names of tables, of which the fastest of any engine runs
            all the same: libraries that all engines call have them.
    """

    tables: Annotated[
        str | KernelFolder,
        PlainValidator(_name_or_folder),
        PlainSerializer(_told, return_type=str),
        WithJsonSchema({"type": "string", "minLength": 1}),
    ]
    engine: str = ""
    any_engine: tuple[str, ...] = ()


class ScaleUpDomain(Schema):
    """The inner network whose switches and cables the price of the accelerator includes.

    Attributes:
        npus: NPUs in one such domain; 1: the price includes no network.
        bandwidth_bytes_per_s: Of one NPU's links in it together, one direction.
        ports: Ports that the links of one NPU end in; None where they were not looked up.
        topology: Shape in which its links join the domain, a name of the table of topologies; None
            where it was not looked up.
        fabric: Kind of the links, a name of ``configs/fabrics``; None where none describes them.
    """

    npus: int = Field(ge=1)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", ge=0)
    ports: int | None = Field(default=None, ge=1)
    topology: TopologyName | None = None
    fabric: str | None = Field(default=None, min_length=1)


class ScaleOutPorts(Schema):
    """The most that one NPU can send out of its scale-up domain, in machines that are built.

    Attributes:
        ports: Network ports.
        bandwidth_bytes_per_s: Of all of them together, one direction: that of the slot of its
            network cards, or of ports of its own.
        installed_bytes_per_s: Of the cards or ports that its servers are sold with; None where they
            are sold without, or it was not looked up.
        source: Where the values come from.
    """

    ports: int = Field(ge=1)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    installed_bytes_per_s: BytesPerS | None = Field(default=None, alias="installed", gt=0)
    source: str = Field(default=OWN_VALUE, min_length=1)

    @model_validator(mode="after")
    def _fits_slot(self) -> Self:
        installed = self.installed_bytes_per_s
        if installed is not None and installed > self.bandwidth_bytes_per_s:
            most = self.bandwidth_bytes_per_s / 1e9
            rule = f"must be {most:g} GB/s, the bandwidth beside it, or less"
            raise ConfigError("installed", rule, got=f"{installed / 1e9:g} GB/s")
        return self


class HostMemory(Schema):
    """Memory of the host that an accelerator reads and writes over its own link.

    Attributes:
        memory_bytes: The accelerator's share of the capacity.
        bandwidth_bytes_per_s: Of its link to it, one direction.
        source: Where the values come from.
    """

    memory_bytes: Bytes = Field(alias="memory", gt=0)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    source: str = ""


class NpuSources(Schema):
    """Source of each group of values; those of an accelerator of one's own need none."""

    peak: str = Field(default=OWN_VALUE, min_length=1)
    memory: str = Field(default=OWN_VALUE, min_length=1)
    power: str = Field(default=OWN_VALUE, min_length=1)
    price: str = Field(default=OWN_VALUE, min_length=1)
    scale_up: str = Field(default=OWN_VALUE, min_length=1)
    efficiency: str = Field(default=OWN_VALUE, min_length=1)


class Npu(Schema):
    """One accelerator.

    Attributes:
        name: Short name, as in ``configs/npus``.
        peak_flop_per_s: Dense peak per number format.
        memory_bytes: Capacity of the device memory.
        memory_bandwidth_bytes_per_s: Its peak bandwidth.
        host: Memory of the host; None where it is not told.
        tdp_w: Power limit of the chip or module; None where not published.
        system_power_w: Its share of the server's rated power; None where not published.
        price_usd: Purchase price with its share of the server; None where not published.
        rent_usd_per_hour: Price of an hour of it with its share of server and network, on demand in
            a cloud; None where not published.
        scale_up: What of the inner network the price includes.
        scale_out: What leaves it at most; None where it was not looked up.
        efficiency: Part of the peaks that kernels reach.
        array: Its systolic arrays; None where it has none, or they are not told.
        movers: Engines that can carry out its communication, by their kinds.
        kernels: Where their times are measured; None: nowhere.
        stack: Software whose costs count, a name of ``configs/stacks``, unless the run names one;
            empty: none but what the efficiency tells.
        sources: Where the values come from.
    """

    name: str = Field(min_length=1)
    peak_flop_per_s: dict[Precision, FlopPerS] = Field(alias="peak", min_length=1)
    memory_bytes: Bytes = Field(alias="memory", gt=0)
    memory_bandwidth_bytes_per_s: BytesPerS = Field(alias="memory_bandwidth", gt=0)
    host: HostMemory | None = None
    tdp_w: Watts | None = Field(default=None, alias="tdp")
    system_power_w: Watts | None = Field(default=None, alias="system_power")
    price_usd: Usd | None = Field(default=None, alias="price")
    rent_usd_per_hour: UsdPerHour | None = Field(default=None, alias="rent")
    scale_up: ScaleUpDomain
    scale_out: ScaleOutPorts | None = None
    efficiency: Efficiency
    array: SystolicArray | None = None
    movers: MoverTable = Field(default_factory=dict)
    kernels: MeasuredBy | None = None
    stack: str = ""
    sources: NpuSources = NpuSources()

    @model_validator(mode="after")
    def _check_signs(self) -> Self:
        for precision, peak in self.peak_flop_per_s.items():
            if not peak > 0:
                raise ConfigError(f"peak.{precision}", "must be above 0 FLOP/s", got=peak)
        optional = {
            "tdp": self.tdp_w,
            "system_power": self.system_power_w,
            "price": self.price_usd,
            "rent": self.rent_usd_per_hour,
        }
        for key, value in optional.items():
            if value is not None and value < 0:
                raise ConfigError(key, "must be 0 or more", got=value)
        return self

    def transfer_bytes_per_s(self, kind: str) -> float:
        """Peak rate at which a kernel of *kind* moves its operands.

        Raises:
            ConfigError: It works in the memory of the host, about which nothing is told.
        """
        if kind == "host":
            return float(self.needed_host.bandwidth_bytes_per_s)
        return float(self.memory_bandwidth_bytes_per_s)

    @property
    def needed_host(self) -> HostMemory:
        """Memory of the host, which something is to lie in.

        Raises:
            ConfigError: Nothing is told about it.
        """
        if self.host is None:
            rule = "is needed for tables in host memory: give its memory and bandwidth"
            raise ConfigError("platform.npu.host", rule, got=None)
        return self.host

    def mover(self, name: str) -> Mover:
        """Its engine of the kind *name*.

        Raises:
            InfeasibleError: It has none, or none is told; lists those that are.
        """
        if name not in self.movers:
            known = ", ".join(self.movers) or "none"
            reason = f"{self.name} has no mover {name}: its file tells of {known}"
            raise InfeasibleError("mover_there", reason)
        return self.movers[name]

    def with_less(self, *, cores: float = 0.0, memory: float = 0.0) -> Self:
        """This accelerator without a part of its cores, and of its memory bandwidth."""
        peaks = {precision: (1 - cores) * peak for precision, peak in self.peak_flop_per_s.items()}
        left = max(1, round((1 - cores) * self.efficiency.processors))
        own = self.efficiency.processors and left
        rate = (1 - memory) * self.memory_bandwidth_bytes_per_s
        return self.model_copy(
            update={
                "peak_flop_per_s": peaks,
                "memory_bandwidth_bytes_per_s": rate,
                "efficiency": self.efficiency.model_copy(update={"processors": own}),
            }
        )

    def peak(self, precision: Precision) -> float:
        """Dense peak in FLOP/s for *precision*.

        Raises:
            ConfigError: The accelerator has no peak for it; lists those it has.
        """
        if precision not in self.peak_flop_per_s:
            known = ", ".join(self.peak_flop_per_s)
            rule = f"{self.name} computes in {known}"
            raise ConfigError("precision", rule, got=str(precision))
        return float(self.peak_flop_per_s[precision])
