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
from simcore.packets.parameters import Parameters
from simcore.schema import Bytes, Schema

_MIB = 1 << 20
_MOST_BUFFER_BYTES = 4095 * _MIB
_GBPS = 10**9
_MODES = {"none": 0, "window": 12, "dcqcn": 1, "hpcc": 3, "timely": 7, "dctcp": 8}

# On the wire, in bytes. Ethernet 14 + 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4; an
# acknowledgement has 4 more (AETH).
_ROCE_HEADERS, _ROCE_ACK = 82, 86
# LRH 8, BTH 12, ICRC 4, VCRC 2, likewise.
_INFINIBAND_HEADERS, _INFINIBAND_ACK = 26, 30


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


class PacketNetwork(Schema):
    """Settings of the network of packets; other backends do not read them.

    Attributes:
        transport: ``roce``: Ethernet, whose switches share a buffer and pause their neighbours
            (PFC); ``infiniband``: links with credits.
        congestion_control: ``dcqcn``, ``hpcc``, ``timely``, ``dctcp``, ``window`` (fixed, of one
            bandwidth-delay product) or ``none``; unless given ``dcqcn`` with RoCE, ``none`` with
            InfiniBand.
        mtu_bytes: Payload of a full packet.
        buffer_bytes: Of a switch with RoCE; of the input of one link with InfiniBand. Unless
            given 32 MiB, and as much as a link needs to run at its rate.
        ecn: Marks; unless given 4 to 16 KB per Gb/s of a link, for DCTCP 3 KB per Gb/s.
        routing: ``network``: the ways that the network's own routing tells, which a pair of NPUs
            keeps; or the switches choose among shortest ways: ``ecmp`` by a hash, one way per
            message; ``spray``: every packet takes the next one in turn; ``adaptive``: the one with
            the shortest queue.
        from_dimension: First dimension whose messages go packet by packet. Those that stay within
            the ones before, which another network than this one carries (NVLink, say), take what
            ``congestion_unaware`` says.
        seed: Of random marks.
        train: Packets of a flow that follow each other closely and are moved as one at most; 1:
            each by itself. More is faster and not exact; the result tells its error.
        steady: Leap over time in which every flow goes on as before, likewise.
    """

    transport: Literal["roce", "infiniband"] = "roce"
    congestion_control: Literal["none", "window", "dcqcn", "hpcc", "timely", "dctcp"] | None = None
    mtu_bytes: Bytes = Field(default=4096, alias="mtu", ge=64, le=65_000)
    buffer_bytes: Bytes | None = Field(default=None, alias="buffer", ge=1, le=_MOST_BUFFER_BYTES)
    ecn: Marking | None = None
    routing: Literal["network", "ecmp", "spray", "adaptive"] = "network"
    from_dimension: int = Field(default=0, ge=0, le=8)
    seed: int = Field(default=1, ge=1, lt=1 << 32)
    train: int = Field(default=1, ge=1, le=64)
    steady: bool = False

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
        return self.congestion_control or ("dcqcn" if self.transport == "roce" else "none")

    @property
    def switch_buffer_bytes(self) -> int:
        """Buffer of a switch, where switches share one."""
        return int(self.buffer_bytes or 32 * _MIB)

    def parameters(self, rates: Iterable[int]) -> Parameters:
        """Parameters of a run on links of these *rates*, in bit/s.

        Raises:
            ConfigError: They do not go together.
        """
        each = sorted(set(rates))
        control, credits_ = self.control, self.transport == "infiniband"
        told: dict[str, Any] = {
            "cc_mode": _MODES[control],
            "packet_payload_size": int(self.mtu_bytes),
            "l2_chunk_size": int(self.mtu_bytes),
            "header_bytes": _INFINIBAND_HEADERS if credits_ else _ROCE_HEADERS,
            "ack_bytes": _INFINIBAND_ACK if credits_ else _ROCE_ACK,
            "link_control": "credits" if credits_ else "pfc",
            "credit_bytes": int(self.buffer_bytes or 0) if credits_ else 0,
            "routing": "ecmp" if self.routing == "network" else self.routing,
            # what comes after a pause was sent: both ways of the link, the packet that the peer
            # was sending, and those before and behind the frame that says so
            "headroom_factor": 2,
            "headroom_packets": 3,
            "global_t": 0,
            "train": self.train,
            **_steps(control, each[0]),
            **self._marks(control, each),
        }
        return Parameters.from_file_data(told, at="network")

    def _marks(self, control: str, rates: list[int]) -> dict[str, Any]:
        if control not in ("dcqcn", "dctcp"):  # nobody heeds marks
            return {"enable_qcn": 0}
        if self.ecn is None:
            low, high, pmax = (3.0, 3.0, 1.0) if control == "dctcp" else (4.0, 16.0, 0.2)
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
    if control == "dcqcn":
        return {"rate_ai": rate // 5000, "rate_hai": rate // 500, "min_rate": max(1, rate // 100)}
    if control == "timely":
        return {"rate_ai": rate // 1000, "rate_hai": rate // 200, "min_rate": max(1, rate // 100)}
    windowed = {"has_win": 1, "var_win": 1, "min_rate": max(1, rate // 1000)}
    if control == "hpcc":
        unit = max(1, rate // (25 * _GBPS))
        return {**windowed, "rate_ai": rate // 2500, "int_multi": unit}
    if control == "dctcp":
        return {**windowed, "ewma_gain": 0.0625, "dctcp_rate_ai": rate // 160}
    return windowed if control == "window" else {}
