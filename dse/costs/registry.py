"""The cost models by the names that studies use."""

from collections.abc import Callable

from dse.costs.base import CostModel
from dse.costs.prices import PriceBook
from simcore import Registry, class_of

COSTS: Registry[Callable[[PriceBook], CostModel]] = Registry(
    "cost model",
    {
        "libra_py": "dse.costs.libra:LibraPy",
        "libra_cpp": "dse.costs.libra:LibraCpp",
        "accelerators_and_libra_py": "dse.costs.libra:AcceleratorsAndLibraPy",
        "whole_machine": "dse.costs.whole_machine:WholeMachine",
        "bill_of_materials": "dse.costs.bill_of_materials:BillOfMaterials",
        "bill_of_materials_power": "dse.costs.bill_of_materials:BillOfMaterialsPower",
        "power": "dse.costs.power:Power",
        "tco": "dse.costs.tco:TotalCostOfOwnership",
    },
    adapt=class_of(CostModel),
)
