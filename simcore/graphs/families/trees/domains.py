"""Scale-up domains, joined by a network of another family."""

from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.families.trees.rails import SERVER_CABLES, server_switches
from simcore.graphs.graph import Wiring
from simcore.schema import Schema


class OutsideNetwork(Schema):
    """A network that joins domains.

    Attributes:
        family: A name of ``FAMILIES``, or ``package.module:Object``.
        params: Its parameters.
    """

    family: str
    params: dict[str, Any] = Field(default_factory=dict)

    def built(self, at: str) -> "tuple[Family, Any]":
        """The family and its checked parameters, read at the place *at*.

        Raises:
            ConfigError: An unknown family, a parameter that breaks a rule, or domains in domains.
        """
        from simcore.graphs.families import FAMILIES  # which holds this file's class

        if self.family not in FAMILIES:
            raise FAMILIES.unknown(self.family, at=f"{at}.family")
        family = FAMILIES[self.family]
        if isinstance(family, Domains):
            rule = "must be a family other than that of domains"
            raise ConfigError(f"{at}.family", rule, got=self.family)
        return family, family.parameters.from_file_data(self.params, at=f"{at}.params")


class DomainsParameters(FamilyParameters):
    """Size of a network of scale-up domains.

    Attributes:
        npus_per_domain: NPUs of a domain.
        nvswitches: Switches within each domain, each joined to all of its NPUs.
        planes: The first NPUs of all domains have a network of their own, the second ones another,
            and so on (rails); else one network joins all NPUs.
        networks: Networks by name, of which one is built.
        outside: Name of that one.
    """

    npus_per_domain: Count
    nvswitches: Count = 1
    planes: bool = True
    networks: dict[str, OutsideNetwork]
    outside: str

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if self.outside not in self.networks:
            rule = f"must be a name of networks: {', '.join(self.networks)}"
            raise ConfigError("outside", rule, got=self.outside)
        return self

    def chosen(self) -> "tuple[Family, Any]":
        """Family and parameters of the network that is built.

        Raises:
            ConfigError: They break a rule.
        """
        return self.networks[self.outside].built(f"params.networks.{self.outside}")


class Domains(Family):
    """Servers or racks with switches of their own, and any network between them.

    With planes a message between unlike places of two domains goes through an NPU of one of them:
    W. Wang et al., "Rail-only", arXiv 2307.12169.
    """

    parameters = DomainsParameters
    npus_forward = True

    def wire(self, parameters: DomainsParameters) -> Wiring:
        p = parameters
        family, given = p.chosen()
        outside = family.wire(given)
        copies = p.npus_per_domain if p.planes else 1
        npus = outside.npus * copies
        if npus % p.npus_per_domain:
            rule = f"must divide the {npus} NPUs of the network outside"
            raise ConfigError("params.npus_per_domain", rule, got=p.npus_per_domain)
        wiring = Wiring(npus)
        server_switches(wiring, npus // p.npus_per_domain, p.npus_per_domain, p.nvswitches)
        for copy in range(copies):
            wiring.copy_of(outside, np.arange(copy, npus, copies), given.failed)
        return wiring

    def domain(self, parameters: DomainsParameters) -> tuple[int, str]:
        return parameters.npus_per_domain, SERVER_CABLES

    def levels(self, parameters: DomainsParameters) -> tuple[int, ...]:
        p = parameters
        family, given = p.chosen()
        if p.planes:
            return p.npus_per_domain, *(family.levels(given) or (family.wire(given).npus,))
        return p.npus_per_domain, family.wire(given).npus // p.npus_per_domain
