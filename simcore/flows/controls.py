"""Congestion controls of flows: what a sender does once it knows more, with its parameters."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from pydantic import Field

from simcore.errors import ConfigError
from simcore.graphs.graph import Floats
from simcore.registry import Registry
from simcore.schema import Bytes, BytesPerS, Schema, Seconds

_MBPS = 1e6 / 8.0


class FlowControl(Schema):
    """A control that every sender has, from line rate on.

    Attributes:
        payload_bytes: Of a packet.
        header_bytes: That each packet has beside it.
        ack_bytes: Of the acknowledgement of each packet.
        added_bytes_per_s: Step by which a rate rises.
        least_bytes_per_s: Rate below which no sender goes.
    """

    code: ClassVar[int]
    payload_bytes: Bytes = Field(default=1000.0, alias="payload", gt=0, le=2**20)
    header_bytes: Bytes = Field(default=36.0, alias="header", ge=0, le=2**20)
    ack_bytes: Bytes = Field(default=48.0, alias="ack", ge=0, le=2**20)
    added_bytes_per_s: BytesPerS = Field(default=20 * _MBPS, alias="added", gt=0)
    least_bytes_per_s: BytesPerS = Field(default=1000 * _MBPS, alias="least", gt=0)

    @abstractmethod
    def given(self, base_ns: float) -> Floats:
        """Parameters as the kernel reads them; *base_ns* is the longest round trip when idle."""

    @property
    def has_window(self) -> bool:
        """True if a sender has at most a round trip's bytes under way."""
        return False

    def _rates(self, more_bytes_per_s: float) -> list[float]:
        rates = self.added_bytes_per_s, more_bytes_per_s, self.least_bytes_per_s
        return [rate * 1e-9 for rate in rates]


class Dcqcn(FlowControl):
    """Marks of switches cut the rate, timers let it rise.

    Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, with the
    timers of network cards: no byte counter.

    Attributes:
        more_bytes_per_s: Step by which a rate rises that has risen before.
        marked_s: Time that a queue takes to empty above which its packets are marked.
        gain: Part of alpha that each of its changes replaces.
        alpha_s, cut_s, rise_s: Times between changes of alpha, cuts, and rises.
        fast: Rises that go half of the way back before the target is raised.
        clamps: Whether every cut lowers the target.
    """

    code: ClassVar[int] = 0
    more_bytes_per_s: BytesPerS = Field(default=200 * _MBPS, alias="more", gt=0)
    marked_s: Seconds = Field(default=32e-6, alias="marked", ge=0)
    gain: float = Field(default=1 / 256, gt=0, le=1)
    alpha_s: Seconds = Field(default=1e-6, alias="alpha", gt=0)
    cut_s: Seconds = Field(default=4e-6, alias="cut", gt=0)
    rise_s: Seconds = Field(default=300e-6, alias="rise", gt=0)
    fast: int = Field(default=1, ge=0)
    clamps: bool = False

    def given(self, base_ns: float) -> Floats:
        times = [time * 1e9 for time in (self.alpha_s, self.cut_s, self.rise_s)]
        rest = [float(self.fast), float(self.clamps), self.marked_s * 1e9]
        return np.array([*self._rates(self.more_bytes_per_s), self.gain, *times, *rest])


class Hpcc(FlowControl):
    """The rate follows the utilisation of the busiest link, which packets bring back.

    Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.

    Attributes:
        target_use: Utilisation at which it aims.
        stages: Updates that only add before one divides.
        at_once: Whether every acknowledgement changes the rate, beside one in each round trip.
    """

    code: ClassVar[int] = 1
    header_bytes: Bytes = Field(default=78.0, alias="header", ge=0, le=2**20)
    ack_bytes: Bytes = Field(default=76.0, alias="ack", ge=0, le=2**20)
    added_bytes_per_s: BytesPerS = Field(default=40 * _MBPS, alias="added", gt=0)
    target_use: float = Field(default=0.95, gt=0, le=1)
    stages: int = Field(default=0, ge=0)
    at_once: bool = True

    @property
    def has_window(self) -> bool:
        return True

    def given(self, base_ns: float) -> Floats:
        own = [self.target_use, float(self.stages), base_ns, float(self.at_once)]
        return np.array([*self._rates(0.0), *own])


class Timely(FlowControl):
    """The rate follows how round trips change.

    R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.

    Attributes:
        more_bytes_per_s: Step by which a rate rises that has risen five times in a row.
        weight: Part of the smoothed change that each new one replaces.
        part: Of a rate, what a change by ``least_s`` takes away.
        low_s, high_s: Round trips below which a rate rises, and above which it falls.
        least_s: Round trip to which changes are compared.
    """

    code: ClassVar[int] = 2
    header_bytes: Bytes = Field(default=44.0, alias="header", ge=0, le=2**20)
    added_bytes_per_s: BytesPerS = Field(default=100 * _MBPS, alias="added", gt=0)
    more_bytes_per_s: BytesPerS = Field(default=500 * _MBPS, alias="more", gt=0)
    weight: float = Field(default=0.875, gt=0, le=1)
    part: float = Field(default=0.8, gt=0, le=1)
    low_s: Seconds = Field(default=50e-6, alias="low", ge=0)
    high_s: Seconds = Field(default=500e-6, alias="high", gt=0)
    least_s: Seconds = Field(default=20e-6, alias="shortest", gt=0)

    def given(self, base_ns: float) -> Floats:
        times = [time * 1e9 for time in (self.low_s, self.high_s, self.least_s)]
        return np.array([*self._rates(self.more_bytes_per_s), self.weight, self.part, *times])


CONTROLS: Registry[type[FlowControl]] = Registry(
    "control", {"dcqcn": Dcqcn, "hpcc": Hpcc, "timely": Timely}
)


def control_of_table(table: object) -> FlowControl:
    """The control that a table with its ``name`` and parameters describes.

    Raises:
        ConfigError: A rule is broken.
    """
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ConfigError("control", "must be a table with a name", got=table)
    if table["name"] not in CONTROLS:
        raise CONTROLS.unknown(table["name"], at="control.name")
    rest = {key: value for key, value in table.items() if key != "name"}
    return CONTROLS[table["name"]].from_file_data(rest, at="control")
