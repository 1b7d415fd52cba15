"""A network of flits as a run file tells it; what is compiled for it is loaded where it runs."""

from pydantic import Field

from simcore.schema import Bytes, Schema

MOST_FLITS = 1 << 16
"""Flits of a packet, and of a channel, at most."""
MOST_CHANNELS = 256


class FlitNetwork(Schema):
    """Settings of the network of flits; other backends do not read them.

    Attributes:
        flit_bytes: What the fastest link carries in a cycle, and so the length of a cycle.
        packet_flits: Flits of a full packet.
        channels: Virtual channels of a link, which rings halve.
        buffer_flits: That each of them holds; unless given as many as the longest link needs to
            run at its rate.
        dimensions: Innermost dimensions that are followed flit by flit; unless given all.
        outside: Backend of the other ones.
    """

    flit_bytes: Bytes = Field(default=32, alias="flit", ge=1, le=1 << 20)
    packet_flits: int = Field(default=16, ge=1, le=MOST_FLITS)
    channels: int = Field(default=4, ge=2, le=MOST_CHANNELS)
    buffer_flits: int | None = Field(default=None, ge=1, le=MOST_FLITS)
    dimensions: int | None = Field(default=None, ge=1, le=8)
    outside: str = "congestion_unaware"
