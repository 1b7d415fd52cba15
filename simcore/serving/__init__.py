"""Serving: prompts are read by one pool of NPUs, and answered by another."""

from simcore.serving.result import ServiceResult
from simcore.serving.service import Service, ServiceTemplate, is_service, load_service
from simcore.serving.simulation import (
    ServiceSimulator,
    attribute_service,
    check_service,
    simulate_service,
)
from simcore.serving.trace import write_service

__all__ = [
    "Service",
    "ServiceResult",
    "ServiceSimulator",
    "ServiceTemplate",
    "attribute_service",
    "check_service",
    "is_service",
    "load_service",
    "simulate_service",
    "write_service",
]
