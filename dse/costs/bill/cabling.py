"""Parts of switched networks: switches, and links by stage."""

from dse.costs.fabrics import FabricCounts
from simcore import BEYOND_M, HALL_ENDPOINTS, HALL_M, RACK_M, ROW_M, Links, Part


def switched(
    counts: FabricCounts, gbps: float, switch: tuple[str, Part], in_rack: bool
) -> tuple[list[tuple[str, Part, int]], list[Links]]:
    """Switches, and links by stage, of a fabric with ports of *gbps*.

    Args:
        counts: Of the fabric.
        gbps: Speed of its ports.
        switch: Name and part of its switches.
        in_rack: Whether its endpoints are in one rack.
    """
    name, part = switch
    host_m = RACK_M if in_rack else ROW_M
    between_m = HALL_M if counts.endpoints <= HALL_ENDPOINTS else BEYOND_M
    links = [
        Links(count=counts.links_host, gbps=gbps, length_m=host_m, ends=("nic", "switch")),
        *(
            Links(count=stage, gbps=gbps, length_m=between_m, ends=("switch", "switch"))
            for stage in counts.links
            if stage
        ),
    ]
    return [(name, part, sum(counts.switches))], links
