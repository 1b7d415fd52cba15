"""Bills of materials: what a machine or a network is bought as."""

from dse.costs.bill.bill import NETWORK, Bill, bill_data
from dse.costs.bill.machine import Biller

__all__ = ["NETWORK", "Bill", "Biller", "bill_data"]
