"""Costs of a machine: to buy, to power, to own."""

from collections.abc import Callable

from dse.costs.base import Cost, CostModel
from dse.costs.bill_of_materials import BillOfMaterials, BillOfMaterialsPower
from dse.costs.domains import SizeMove, size_moves
from dse.costs.libra import AcceleratorsAndLibraPy, LibraCpp, LibraPy
from dse.costs.lines import PriceLine, price_lines
from dse.costs.power import Power, carbon_kg
from dse.costs.prices import PriceBook, load_prices
from dse.costs.tco import TotalCostOfOwnership, hourly_cost, rented_cost, usd_per_token
from dse.costs.whole_machine import WholeMachine
from simcore import Registry, class_of

COSTS: Registry[Callable[[PriceBook], CostModel]] = Registry(
    "cost model",
    {
        "libra_py": LibraPy,
        "libra_cpp": LibraCpp,
        "accelerators_and_libra_py": AcceleratorsAndLibraPy,
        "whole_machine": WholeMachine,
        "bill_of_materials": BillOfMaterials,
        "bill_of_materials_power": BillOfMaterialsPower,
        "power": Power,
        "tco": TotalCostOfOwnership,
    },
    adapt=class_of(CostModel),
)

__all__ = [
    "COSTS",
    "AcceleratorsAndLibraPy",
    "BillOfMaterials",
    "BillOfMaterialsPower",
    "Cost",
    "CostModel",
    "LibraCpp",
    "LibraPy",
    "Power",
    "PriceBook",
    "PriceLine",
    "SizeMove",
    "TotalCostOfOwnership",
    "WholeMachine",
    "carbon_kg",
    "hourly_cost",
    "load_prices",
    "price_lines",
    "rented_cost",
    "size_moves",
    "usd_per_token",
]
