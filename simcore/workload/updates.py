"""Ways in which replicas agree on their weights."""

from typing import Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema


class Updates(Schema):
    """The scheme of data parallel training.

    - ``all_reduce``: gradients are summed over all replicas in each iteration (or scattered, as
      ``zero_stage`` says).
    - ``servers``: some of the NPUs serve equal parts of the weights. Each worker pushes the
      gradients of a part to its server, which adds them up, updates its part, and is asked for it
      by every worker. With a *staleness* of 0 workers wait for the new weights; else gradients and
      weights travel beside the passes of the next iteration.
    - ``local``: every replica trains by itself, and their weights are averaged now and then.
    - ``gossip``: every replica takes steps of its own, and after each one takes the mean of its
      weights and those of one partner.

    Source: M. Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI
    2014, section 3; Q. Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel
    Parameter Server", NeurIPS 2013; A. Douillard et al., "DiLoCo", arXiv:2311.08105, algorithm 1;
    X. Lian et al., "Can Decentralized Algorithms Outperform Centralized Algorithms?", NeurIPS 2017;
    B. Ying et al., "Exponential Graph is Provably Efficient for Decentralized Deep Training",
    NeurIPS 2021 (one partner at a distance that is a power of two).

    Attributes:
        servers: NPUs that serve: 1 is a central server, as many as replicas is fully sharded.
        staleness: Iterations by which the weights that a worker uses may lack updates.
        every: With ``local``, iterations from one average to the next; 0: there is none.
        distance: With ``gossip``, replicas between partners; 1: neighbours.
    """

    kind: Literal["all_reduce", "servers", "local", "gossip"] = "all_reduce"
    servers: int = Field(default=1, ge=1)
    staleness: int = Field(default=0, ge=0)
    every: int = Field(default=1, ge=0, le=10**9)
    distance: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind != "servers" and (self.servers, self.staleness) != (1, 0):
            got = f"{self.servers} and {self.staleness}"
            raise ConfigError("servers and staleness", "need kind: servers", got=got)
        if self.kind != "local" and self.every != 1:
            raise ConfigError("every", "needs kind: local", got=self.every)
        if self.kind != "gossip" and self.distance != 1:
            raise ConfigError("distance", "needs kind: gossip", got=self.distance)
        return self

    @property
    def serves(self) -> bool:
        """Weights are kept by servers."""
        return self.kind == "servers"

    @property
    def is_local(self) -> bool:
        return self.kind == "local"

    @property
    def gossips(self) -> bool:
        """Replicas take the mean of their weights in pairs."""
        return self.kind == "gossip"

    @property
    def runs_beside(self) -> bool:
        """Gradients and weights travel beside the passes of the next iteration."""
        return self.staleness > 0

    @property
    def lag(self) -> int:
        """Iterations by which weights lack updates, as all workers are equally fast.

        The gradients of an iteration travel during the next one, and so do the weights; or the
        weights one later still, if *staleness* lets them, beside the next gradients.
        """
        return min(self.staleness, 2)
