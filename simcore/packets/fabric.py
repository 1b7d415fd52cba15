"""A network of packets as a run file tells it, and the parameters that follow from it.

What is left out follows from the transport and from the rate of the slowest link. Sources: headers
from IEEE 802.3, RFC 791 and 768, and the InfiniBand Architecture Specification, volume 1 (annex A17
for RoCEv2); marks and increases per rate from the script that the HPCC authors published with their
simulator (Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019), those of DCTCP
from M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010.
"""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from simcore.errors import ConfigError
from simcore.packets.files.link_rows import LinkChange
from simcore.packets.parameters import Parameters
from simcore.schema import Bytes, BytesPerS, Schema, Seconds

_MIB = 1 << 20
_MOST_BUFFER_BYTES = 4095 * _MIB
_GBPS = 10**9
_WINDOW_MODE = 12  # none of the reference's numbers: a fixed window
_MARKED = ("dcqcn", "dctcp", "dcqcn_paper", "dctcp_window", "reno", "cubic", "infiniband")
_STEP_MARKS = ("dctcp", "dctcp_window", "reno", "cubic")
_DEFAULTS = {"roce": "dcqcn", "infiniband": "none", "tcp": "cubic"}

ControlName = Literal[
    "none", "window", "dcqcn", "hpcc", "timely", "dctcp", "dcqcn_paper", "hpcc_paper",
    "timely_paper", "swift", "reno", "cubic", "dctcp_window", "infiniband",
]  # fmt: skip
"""``window``, and the names of ``packets.controls``: listed here, for those load the compiler."""

# On the wire, in bytes. Ethernet 14 + 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4; an
# acknowledgement has 4 more (AETH).
_ROCE_HEADERS, _ROCE_ACK = 82, 86
# LRH 8, BTH 12, ICRC 4, VCRC 2, likewise.
_INFINIBAND_HEADERS, _INFINIBAND_ACK = 26, 30
# Ethernet as above, IPv4 20, TCP 20 and its timestamps 12 (RFC 7323).
_TCP_HEADERS, _TCP_ACK = 90, 90
_HEADERS = {
    "roce": (_ROCE_HEADERS, _ROCE_ACK),
    "infiniband": (_INFINIBAND_HEADERS, _INFINIBAND_ACK),
    "tcp": (_TCP_HEADERS, _TCP_ACK),
}
_LINK_CONTROL = {"roce": "pfc", "infiniband": "credits", "tcp": "drop"}


class Marking(Schema):
    """Marks that switches make by the length of a queue (ECN), for every link alike.

    Attributes:
        kmin_bytes: Below, no packet is marked.
        kmax_bytes: Above, every packet is.
        pmax: Chance just below ``kmax``; from ``kmin`` on it rises to it.
    """

    kmin_bytes: Bytes = Field(alias="kmin", ge=0, le=1e12)
    kmax_bytes: Bytes = Field(alias="kmax", ge=0, le=1e12)
    pmax: float = Field(default=0.2, ge=0, le=1)


class LinkFailure(Schema):
    """Another rate of a link from some time on, both ways.

    Attributes:
        at_s: Time from the start of the run.
        between: Its two ends, as the network of packets numbers them: NPUs first, then switches.
        rate: Bytes per second; 0: it fails, and what it is given is lost.
    """

    at_s: Seconds = Field(alias="at", ge=0, le=1e6)
    between: tuple[int, int]
    rate: BytesPerS = Field(ge=0)


class PacketNetwork(Schema):
    """Settings of the network of packets; other backends do not read them.

    Attributes:
        transport: ``roce``: Ethernet, whose switches share a buffer and pause their neighbours
            (PFC); ``infiniband``: links with credits; ``tcp``: Ethernet whose switches drop what
            they have no room for, and lost packets alone are sent again.
        congestion_control: ``dcqcn``, ``hpcc``, ``timely``, ``dctcp``, ``window`` (fixed, of one
            bandwidth-delay product), ``none``, or another one of ``simcore.packets.controls``;
            unless given ``dcqcn`` with RoCE, ``none`` with InfiniBand, ``cubic`` with TCP.
        mtu_bytes: Payload of a full packet.
        buffer_bytes: Of a switch with RoCE; of the input of one link with InfiniBand. Unless
            given 32 MiB, and as much as a link needs to run at its rate.
        ecn: Marks; unless given 4 to 16 KB per Gb/s of a link, for DCTCP 3 KB per Gb/s.
        routing: ``network``: the ways that the network's own routing tells, which a pair of NPUs
            keeps; or the switches choose among shortest ways: ``ecmp`` by a hash, one way per
            message; ``spray``: every packet takes the next one in turn; ``adaptive``: the one with
            the shortest queue; ``flowlet``: that one, after each pause of a message. ``ugal`` and
            ``valiant``: a message takes a detour over another switch if queues are shorter there,
            and always.
        from_dimension: First dimension whose messages go packet by packet. Those that stay within
            the ones before, which another network than this one carries (NVLink, say), take what
            ``congestion_unaware`` says.
        lanes: Virtual lanes of each link with InfiniBand, among which targets are dealt out.
        loss: Share of packets that each link loses.
        retry_s: Time without progress after which a message sends again what was not acknowledged;
            unless given, never where nothing can be lost, else 1 ms.
        selective_repeat: Send only lost packets again, rather than all from the first one on; with
            TCP unless given.
        notification_s: Least time between packets that tell a sender of marks, in place of ACKs
            (``dcqcn``, ``dcqcn_paper``, ``infiniband``).
        link_changes: Links that fail or get slower as the run goes.
        seed: Of random marks and losses.
        train: Packets of a flow that follow each other closely and are moved as one at most; 1:
            each by itself. More is faster and not exact; the result tells its error.
        steady: Leap over time in which every flow goes on as before, likewise.
        fold: Simulate one of several parts of the network that provably behave alike, and let the
            messages of the others take its times; changes no figure.
    """

    transport: Literal["roce", "infiniband", "tcp"] = "roce"
    congestion_control: ControlName | None = None
    mtu_bytes: Bytes = Field(default=4096, alias="mtu", ge=64, le=65_000)
    buffer_bytes: Bytes | None = Field(default=None, alias="buffer", ge=1, le=_MOST_BUFFER_BYTES)
    ecn: Marking | None = None
    routing: Literal["network", "ecmp", "spray", "adaptive", "flowlet", "valiant", "ugal"] = (
        "network"
    )
    from_dimension: int = Field(default=0, ge=0, le=8)
    lanes: int = Field(default=1, ge=1, le=15)
    loss: float = Field(default=0.0, ge=0, le=0.5)
    retry_s: Seconds | None = Field(default=None, alias="retry", ge=1e-6, le=1000)
    selective_repeat: bool | None = None
    notification_s: Seconds | None = Field(default=None, alias="notification", ge=1e-9, le=1)
    link_changes: tuple[LinkFailure, ...] = ()
    seed: int = Field(default=1, ge=1, lt=1 << 32)
    train: int = Field(default=1, ge=1, le=64)
    steady: bool = False
    fold: bool = True

    @property
    def is_exact(self) -> bool:
        """True if every packet is followed by itself."""
        return self.train == 1 and not self.steady

    def exact(self) -> "PacketNetwork":
        """These settings without short cuts."""
        return self.model_copy(update={"train": 1, "steady": False})

    @property
    def control(self) -> str:
        """Name of the congestion control."""
        return self.congestion_control or _DEFAULTS[self.transport]

    @property
    def may_lose(self) -> bool:
        """True if packets can get lost or be dropped."""
        fails = any(change.rate == 0 for change in self.link_changes)
        return self.transport == "tcp" or self.loss > 0 or fails

    def changes(self) -> tuple[LinkChange, ...]:
        """Changes of links by time, in whole ns and bit/s."""
        found = [
            LinkChange(round(one.at_s * 1e9), one.between, round(8 * one.rate))
            for one in self.link_changes
        ]
        return tuple(sorted(found, key=lambda change: change.time_ns))

    @property
    def switch_buffer_bytes(self) -> int:
        """Buffer of a switch, where switches share one."""
        return int(self.buffer_bytes or 32 * _MIB)

    def parameters(self, rates: Iterable[int]) -> Parameters:
        """Parameters of a run on links of these *rates*, in bit/s.

        Raises:
            ConfigError: They do not go together.
        """
        if self.may_lose and not self.is_exact:
            rule = "must be followed one by one (train: 1, steady: false) where they can get lost"
            raise ConfigError("network.train", rule, got=self.train)
        each = sorted(set(rates))
        control, credits_ = self.control, self.transport == "infiniband"
        headers, ack = _HEADERS[self.transport]
        told: dict[str, Any] = {
            "cc_mode": _WINDOW_MODE if control == "window" else 0,
            "control": "" if control == "window" else control,
            "packet_payload_size": int(self.mtu_bytes),
            "l2_chunk_size": int(self.mtu_bytes),
            "header_bytes": headers,
            "ack_bytes": ack,
            "link_control": _LINK_CONTROL[self.transport],
            "credit_bytes": int(self.buffer_bytes or 0) if credits_ else 0,
            "lane_weights": [1] * self.lanes,
            "routing": "ecmp" if self.routing == "network" else self.routing,
            # what comes after a pause was sent: both ways of the link, the packet that the peer
            # was sending, and those before and behind the frame that says so
            "headroom_factor": 2,
            "headroom_packets": 3,
            "global_t": 0,
            "train": self.train,
            **self._recovery(),
            **_steps(control, each[0]),
            **self._marks(control, each),
        }
        return Parameters.from_file_data(told, at="network")

    def _recovery(self) -> dict[str, Any]:
        """Keys of what happens to packets that get lost."""
        retry_s = self.retry_s or (1e-3 if self.may_lose else 0.0)
        chosen = self.selective_repeat
        any_order = self.routing in ("spray", "adaptive")
        default = self.transport == "tcp" or (any_order and self.may_lose)
        return {
            "link_error_rate": self.loss,
            "own_losses": 1,
            "retry_ns": round(retry_s * 1e9),
            "retry_backoff": int(self.transport == "tcp"),
            "retries": 10**6 if self.transport == "tcp" else 7,
            "selective_repeat": int(default if chosen is None else chosen),
            "cnp_interval_ns": round((self.notification_s or 0.0) * 1e9),
        }

    def _marks(self, control: str, rates: list[int]) -> dict[str, Any]:
        if control not in _MARKED:  # nobody heeds marks
            return {"enable_qcn": 0}
        if self.ecn is None:
            low, high, pmax = (3.0, 3.0, 1.0) if control in _STEP_MARKS else (4.0, 16.0, 0.2)
            lows, highs = ([one * rate / _GBPS for rate in rates] for one in (low, high))
        else:
            if self.ecn.kmin_bytes > self.ecn.kmax_bytes:
                rule = f"must be at most kmax, {self.ecn.kmax_bytes:g} bytes"
                raise ConfigError("network.ecn.kmin", rule, got=self.ecn.kmin_bytes)
            lows, highs = (
                [one / 1000] * len(rates) for one in (self.ecn.kmin_bytes, self.ecn.kmax_bytes)
            )
            pmax = self.ecn.pmax
        return {
            "kmin_kb": dict(zip(rates, lows, strict=True)),
            "kmax_kb": dict(zip(rates, highs, strict=True)),
            "pmax": dict.fromkeys(rates, pmax),
        }


def _steps(control: str, rate: int) -> dict[str, Any]:
    """Keys of a congestion control whose slowest link has a *rate*, in bit/s."""
    if control == "dcqcn_paper":
        paper = {"alpha_resume_interval": 55, "rp_timer": 55, "fast_recovery_times": 5}
        return {**paper, **_steps("dcqcn", rate)}
    if control == "dcqcn":
        return {"rate_ai": rate // 5000, "rate_hai": rate // 500, "min_rate": max(1, rate // 100)}
    if control in ("timely", "timely_paper"):
        return {"rate_ai": rate // 1000, "rate_hai": rate // 200, "min_rate": max(1, rate // 100)}
    windowed = {"has_win": 1, "var_win": 1, "min_rate": max(1, rate // 1000)}
    if control in ("hpcc", "hpcc_paper"):
        unit = max(1, rate // (25 * _GBPS))
        return {**windowed, "rate_ai": rate // 2500, "int_multi": unit}
    if control == "dctcp":
        return {**windowed, "ewma_gain": 0.0625, "dctcp_rate_ai": rate // 160}
    return windowed if control == "window" else {}
