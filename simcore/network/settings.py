"""Settings of the networks that have any, as a run tells them."""

from typing import NamedTuple

from simcore.flits.settings import FlitNetwork
from simcore.packets.fabric import PacketNetwork


class NetworkSettings(NamedTuple):
    """Settings of a run's networks.

    Attributes:
        packets: Of packets.
        routers: Of flits.
    """

    packets: PacketNetwork = PacketNetwork()
    routers: FlitNetwork = FlitNetwork()
