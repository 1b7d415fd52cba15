"""The ``cost`` part of a study file."""

from pathlib import Path

from pydantic import field_validator

from dse.costs import COSTS
from simcore import Schema


class CostFile(Schema):
    """Cost model and price book of a study file.

    Attributes:
        model: Cost model of ``capital_cost``.
        network: Cost model of ``network_cost``.
        prices: Shipped price book, or a path ending in .yaml.
    """

    model: str = "whole_machine"
    network: str = "libra_py"
    prices: str = "default"

    @field_validator("model", "network")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in COSTS:
            raise COSTS.unknown(name)
        return name

    def beside(self, folder: str) -> Path | None:
        """The folder that a path in ``prices`` starts from."""
        return Path(folder) if folder else None
