"""simcore: what one training iteration of a large model costs on a given machine.

Public names are imported when first used, so that ``import simcore`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simcore.bounds import DesignBounds, footprints, lower_bounds
    from simcore.checks import RunChecks, check_memory, check_run, check_structure
    from simcore.config import Run, RunTemplate, get_path, load_run, parse_path, set_path
    from simcore.errors import ConfigError, InfeasibleError, SimcoreError, SimulationError
    from simcore.files.input_file import is_there
    from simcore.files.json_file import parse_json, read_json
    from simcore.files.kept_files import files_kept
    from simcore.files.resources import find_config, shipped_folder, shipped_names
    from simcore.files.yaml_file import parse_yaml, read_table, read_yaml
    from simcore.last_resort import last_words
    from simcore.machine import Dimension, Npu, Platform, json_schemas, load_npu, load_platform
    from simcore.machine.system import System
    from simcore.memory import Footprint, footprint
    from simcore.plugins import source_digests
    from simcore.registry import Registry, class_of, did_you_mean
    from simcore.result import IterationResult, StageTimes
    from simcore.schema import (
        Bytes,
        BytesPerS,
        KgPerKwh,
        PerYear,
        Schema,
        Seconds,
        Usd,
        UsdPerGBps,
        UsdPerKwh,
        Watts,
        WattsPerGBps,
    )
    from simcore.serving import (
        Service,
        ServiceResult,
        ServiceSimulator,
        ServiceTemplate,
        load_service,
        simulate_service,
    )
    from simcore.simulation import Simulator, simulate, simulate_run
    from simcore.terms import CollectiveKind, Precision
    from simcore.topologies import TOPOLOGIES, Topology
    from simcore.units import FACTORS, format_quantity, parse_quantity
    from simcore.validation import validated_band
    from simcore.workload import (
        Model,
        ParallelPlan,
        TrainingWorkload,
        Updates,
        Workload,
        load_model,
        load_plan,
        load_workload,
    )
    from simcore.workload.kinds import CnnWorkload, DlrmWorkload, InferenceWorkload

_HOMES = {
    "Bytes": "simcore.schema",
    "BytesPerS": "simcore.schema",
    "CollectiveKind": "simcore.terms",
    "ConfigError": "simcore.errors",
    "DesignBounds": "simcore.bounds",
    "Dimension": "simcore.machine",
    "FACTORS": "simcore.units",
    "Footprint": "simcore.memory",
    "InfeasibleError": "simcore.errors",
    "IterationResult": "simcore.result",
    "KgPerKwh": "simcore.schema",
    "Model": "simcore.workload",
    "Npu": "simcore.machine",
    "ParallelPlan": "simcore.workload",
    "PerYear": "simcore.schema",
    "Platform": "simcore.machine",
    "Precision": "simcore.terms",
    "Registry": "simcore.registry",
    "Run": "simcore.config",
    "RunChecks": "simcore.checks",
    "RunTemplate": "simcore.config",
    "Schema": "simcore.schema",
    "Seconds": "simcore.schema",
    "SimcoreError": "simcore.errors",
    "SimulationError": "simcore.errors",
    "Service": "simcore.serving",
    "ServiceResult": "simcore.serving",
    "ServiceSimulator": "simcore.serving",
    "ServiceTemplate": "simcore.serving",
    "Simulator": "simcore.simulation",
    "StageTimes": "simcore.result",
    "System": "simcore.machine.system",
    "TOPOLOGIES": "simcore.topologies",
    "Topology": "simcore.topologies",
    "TrainingWorkload": "simcore.workload",
    "Usd": "simcore.schema",
    "UsdPerGBps": "simcore.schema",
    "UsdPerKwh": "simcore.schema",
    "Watts": "simcore.schema",
    "WattsPerGBps": "simcore.schema",
    "check_memory": "simcore.checks",
    "check_run": "simcore.checks",
    "check_structure": "simcore.checks",
    "class_of": "simcore.registry",
    "did_you_mean": "simcore.registry",
    "source_digests": "simcore.plugins",
    "files_kept": "simcore.files.kept_files",
    "find_config": "simcore.files.resources",
    "footprint": "simcore.memory",
    "footprints": "simcore.bounds",
    "format_quantity": "simcore.units",
    "get_path": "simcore.config",
    "is_there": "simcore.files.input_file",
    "json_schemas": "simcore.machine",
    "last_words": "simcore.last_resort",
    "load_npu": "simcore.machine",
    "load_workload": "simcore.workload",
    "load_plan": "simcore.workload",
    "load_model": "simcore.workload",
    "load_platform": "simcore.machine",
    "load_run": "simcore.config",
    "load_service": "simcore.serving",
    "lower_bounds": "simcore.bounds",
    "parse_json": "simcore.files.json_file",
    "parse_path": "simcore.config",
    "parse_yaml": "simcore.files.yaml_file",
    "parse_quantity": "simcore.units",
    "read_json": "simcore.files.json_file",
    "read_table": "simcore.files.yaml_file",
    "read_yaml": "simcore.files.yaml_file",
    "set_path": "simcore.config",
    "shipped_folder": "simcore.files.resources",
    "shipped_names": "simcore.files.resources",
    "simulate": "simcore.simulation",
    "simulate_run": "simcore.simulation",
    "simulate_service": "simcore.serving",
    "validated_band": "simcore.validation",
    "CnnWorkload": "simcore.workload.kinds",
    "DlrmWorkload": "simcore.workload.kinds",
    "InferenceWorkload": "simcore.workload.kinds",
    "Updates": "simcore.workload",
    "Workload": "simcore.workload",
}

__all__ = [
    "FACTORS",
    "TOPOLOGIES",
    "Bytes",
    "BytesPerS",
    "CnnWorkload",
    "CollectiveKind",
    "ConfigError",
    "DesignBounds",
    "Dimension",
    "DlrmWorkload",
    "Footprint",
    "InfeasibleError",
    "InferenceWorkload",
    "IterationResult",
    "KgPerKwh",
    "Model",
    "Npu",
    "ParallelPlan",
    "PerYear",
    "Platform",
    "Precision",
    "Registry",
    "Run",
    "RunChecks",
    "RunTemplate",
    "Schema",
    "Seconds",
    "Service",
    "ServiceResult",
    "ServiceSimulator",
    "ServiceTemplate",
    "SimcoreError",
    "SimulationError",
    "Simulator",
    "StageTimes",
    "System",
    "Topology",
    "TrainingWorkload",
    "Updates",
    "Usd",
    "UsdPerGBps",
    "UsdPerKwh",
    "Watts",
    "WattsPerGBps",
    "Workload",
    "check_memory",
    "check_run",
    "check_structure",
    "class_of",
    "did_you_mean",
    "files_kept",
    "find_config",
    "footprint",
    "footprints",
    "format_quantity",
    "get_path",
    "is_there",
    "json_schemas",
    "last_words",
    "load_model",
    "load_npu",
    "load_plan",
    "load_platform",
    "load_run",
    "load_service",
    "load_workload",
    "lower_bounds",
    "parse_json",
    "parse_path",
    "parse_quantity",
    "parse_yaml",
    "read_json",
    "read_table",
    "read_yaml",
    "set_path",
    "shipped_folder",
    "shipped_names",
    "simulate",
    "simulate_run",
    "simulate_service",
    "source_digests",
    "validated_band",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'simcore' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
