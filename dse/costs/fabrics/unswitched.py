"""Networks whose NPUs are wired to each other: tori, with optical circuit switches or without.

Source: N. Jouppi et al., "TPU v4", ISCA 2023 (arXiv 2304.01433): cubes of 4 x 4 x 4, 96 optical
ends each, 48 circuit switches of 128 ports and 8 spare ones for 64 cubes.
"""

from math import prod

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse


class Torus(Fabric):
    """A ring along every line of a grid; a dimension of two has one link for each pair."""

    dims: tuple[int, ...] = Field(min_length=1)

    def counts(self) -> FabricCounts:
        if min(self.dims) < 1:
            raise refuse("dims", "every dimension must have an NPU")
        npus = prod(self.dims)
        links = sum({1: 0, 2: npus // 2}.get(size, npus) for size in self.dims)
        return FabricCounts(endpoints=npus, links=(links,))


class Torus3dOcs(Fabric):
    """Cubes whose faces meet in optical circuit switches.

    A circuit switch joins the same position of the same pair of faces of all cubes, so there are
    three for each position of a face, whatever the number of cubes; each takes two ports per cube.

    Attributes:
        dims: NPUs along each dimension, or
        cubes: number of cubes.
        cube: NPUs along the edge of a cube.
        ocs_ports: Ports of a circuit switch for cubes; None: circuit switches are not counted.
        ocs_spare: Further ports of it.
    """

    dims: tuple[int, int, int] | None = None
    cubes: int | None = Field(default=None, ge=1)
    cube: int = Field(default=4, ge=2)
    ocs_ports: int | None = Field(default=None, ge=2)
    ocs_spare: int = Field(default=0, ge=0)

    def counts(self) -> FabricCounts:
        cubes = self._cubes()
        npus, face = cubes * self.cube**3, self.cube**2
        ends = 6 * face * cubes
        circuits = 0
        if self.ocs_ports is not None:
            if 2 * cubes > self.ocs_ports:
                reason = (
                    f"{self.ocs_ports} ports of a circuit switch take {self.ocs_ports // 2} cubes"
                )
                raise refuse("ocs_ports", f"{reason}, not {cubes}")
            circuits = 3 * face
        return FabricCounts(
            endpoints=npus, links=(3 * npus,), circuit_switches=circuits, optical_ends=ends
        )

    def _cubes(self) -> int:
        if self.dims is None:
            if self.cubes is None:
                raise refuse("cubes", "cubes or dims must be told")
            return self.cubes
        if any(size % self.cube for size in self.dims):
            raise refuse("dims", f"every dimension must be a multiple of {self.cube}")
        cubes = prod(size // self.cube for size in self.dims)
        if self.cubes not in (None, cubes):
            raise refuse("cubes", f"{self.dims} NPUs are {cubes} cubes, not {self.cubes}")
        return cubes


class Direct(Fabric):
    """Two servers back to back: a cable for each rail."""

    endpoints: int = Field(ge=2)
    rails: int = Field(ge=1)
    radix: int | None = None
    tiers: int = Field(default=0, ge=0, le=0)

    def counts(self) -> FabricCounts:
        if self.endpoints != 2 * self.rails:
            reason = f"{self.endpoints} endpoints are not two servers of {self.rails}"
            raise refuse("endpoints", reason)
        return FabricCounts(endpoints=self.endpoints, links=(self.rails,))
