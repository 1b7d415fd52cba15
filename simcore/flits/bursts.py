"""Nodes that send in bursts: in each cycle one begins or ends by chance; in it packets come.

A node is within a burst for the part begin / (begin + end) of the time, so that of the chances to
begin, to end and to make a packet any two and the rate give the third.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simcore.errors import ConfigError

BURST_NAMES = ("burst_alpha", "burst_beta", "burst_r1")
_DEFAULTS = (0.5, 0.5, -1.0)
LEAST = 1e-6
"""Least chance to begin a burst, and to make a packet in it: a node's next packet is to come."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """Chances per cycle, of which the rate gives the one that is None.

    Attributes:
        begins: Of a burst to begin, at a node outside one.
        ends: Of a burst to end.
        sends: Of a packet within a burst.
    """

    begins: float | None
    ends: float | None
    sends: float | None

    def chances(self, rate: float) -> tuple[float, float, float]:
        """All three for a *rate* in packets per node and cycle.

        Raises:
            ConfigError: No such chance gives that rate.
        """
        begins, ends, sends = self.begins, self.ends, self.sends
        name = BURST_NAMES[0]
        if begins is None and sends is not None and ends is not None:
            begins = ends * rate / (sends - rate) if sends > rate else 2.0
        elif ends is None and begins is not None and sends is not None:
            name, ends = BURST_NAMES[1], begins * (sends - rate) / rate
        elif begins is not None and ends is not None:
            name, sends = BURST_NAMES[2], rate * (begins + ends) / begins
        if begins is None or ends is None or sends is None:
            raise ValueError("two chances of three must be given")
        is_right = LEAST <= begins <= 1 and 0 <= ends <= 1 and LEAST <= sends <= 1
        if not is_right:
            rule = f"must give {rate:g} packets per node and cycle with the other two chances"
            raise ConfigError(name, rule, got="no chance from 0 to 1 that does")
        return begins, ends, sends


def read_bursts(config: Mapping[str, Any]) -> Bursts | None:
    """Bursts of parameters with ``injection_process`` on_off, as BookSim 2 names them.

    Raises:
        ConfigError: Another process than bernoulli, or not two chances of the three.
    """
    process = config.get("injection_process", "bernoulli")
    if process == "bernoulli":
        return None
    if process != "on_off":
        raise ConfigError("injection_process", "must be bernoulli or on_off", got=process)
    given: list[float | None] = []
    for name, default in zip(BURST_NAMES, _DEFAULTS, strict=True):
        value = config.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value > 1:
            raise ConfigError(
                name, "must be a chance up to 1, or below 0: from the rate", got=value
            )
        given.append(float(value) if value >= 0 else None)
    if given.count(None) != 1:
        rule = "must be two chances with burst_beta and burst_r1, and below 0 the one from the rate"
        raise ConfigError(BURST_NAMES[0], rule, got=config.get(BURST_NAMES[0], _DEFAULTS[0]))
    return Bursts(*given)
