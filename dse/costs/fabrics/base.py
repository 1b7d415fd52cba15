"""Base of fabrics: switches and links that follow from the parameters builders state."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil

from pydantic import Field

from simcore import InfeasibleError, Schema, plain_sum


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricCounts:
    """Switches and links of one network.

    A link joins two ports at the port's speed; where a cable bundles the ports of several planes,
    the cable is counted once.

    Attributes:
        endpoints: Ports of NPUs or servers that it joins, used ones.
        switches: Per tier, from the endpoints up; empty where nothing is switched.
        links_host: Between endpoints and switches.
        links: Between tiers, from the first up; in a dragonfly the local and the global ones; of a
            network without switches those between NPUs. None: a parameter for it is not told.
        circuit_switches: Optical circuit switches.
        optical_ends: Ends of links that need an optical module, where lengths decide it; None:
            unknown here.
        is_counted: False: parameters of switches and links are not told.
    """

    endpoints: int
    switches: tuple[int, ...] = ()
    links_host: int = 0
    links: tuple[int | None, ...] = ()
    circuit_switches: int = 0
    optical_ends: int | None = None
    is_counted: bool = True

    @property
    def switches_total(self) -> int:
        """Switches of all tiers, optical circuit switches among them."""
        return sum(self.switches) + self.circuit_switches

    @property
    def links_total(self) -> int | None:
        """Links of all stages; None: some are not known."""
        known = [link for link in self.links if link is not None]
        if len(known) < len(self.links):
            return None
        return self.links_host + plain_sum(known)

    def times(self, copies: int) -> "FabricCounts":
        """The counts of so many equal fabrics, each with endpoints of its own."""
        return FabricCounts(
            endpoints=self.endpoints * copies,
            switches=tuple(tier * copies for tier in self.switches),
            links_host=self.links_host * copies,
            links=tuple(None if link is None else link * copies for link in self.links),
            circuit_switches=self.circuit_switches * copies,
            optical_ends=None if self.optical_ends is None else self.optical_ends * copies,
            is_counted=self.is_counted,
        )


class Fabric(Schema, ABC):
    """A network by its parameters; fields are those of builders' tables.

    Attributes:
        port_gbps: Speed of one port, Gb/s; it sets the radix of a switch.
        nic_gbps: Speed of one NPU's network card, Gb/s.
    """

    port_gbps: float | None = Field(default=None, gt=0)
    nic_gbps: float | None = Field(default=None, gt=0)

    @abstractmethod
    def counts(self) -> FabricCounts:
        """Switches and links.

        Raises:
            InfeasibleError: There is no such network.
        """


def refuse(rule: str, reason: str) -> InfeasibleError:
    """The error that says that there is no such network."""
    return InfeasibleError(rule, reason)


def up(part: float) -> int:
    """The next whole number; a hair above one, as floating point leaves it, is that one."""
    return ceil(part - 1e-9)
