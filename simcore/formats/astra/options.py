"""Input of one run of ASTRA-sim: files, and options of its command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

from simcore.engines.events.phases import POLICIES
from simcore.errors import ConfigError
from simcore.formats.astra.system_file import CommandOptions
from simcore.registry import did_you_mean

IGNORED = ("compute-scale", "comm-scale", "logging-configuration", "logging-folder")
_TOO_MANY = 1025
_OWN = (  # not ASTRA-sim's
    "inter-dimension-scheduling",
    "communication-streams",
    "compute-slots",
    "group-order",
    "log-style",
    "no-folding",
    "npu-scale",
    "placement",
)
_GROUP_ORDERS = ("own", "common")
AS_IS = "as_is"
"""Placement that moves no rank, as in run files."""
_LOG_STYLES = ("plain", "astra")
_USED = ("num-queues-per-dim", "injection-scale", "rendezvous-protocol", *_OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class AstraFiles:
    """The files of one run.

    Attributes:
        workload: Prefix of the traces; NPU r reads ``<prefix>.<r>.et``.
        system: System file (JSON).
        network: Network file (YAML).
        remote_memory: Remote memory file (JSON).
        comm_group: Communicator groups (JSON), or None.
        folder: Where relative paths inside these files start.
        physical_topology: Topology of the packet simulation, with that backend.
        packet_config: Its settings.
        next_hops: Order of its next hops (JSON), or None.
    """

    workload: Path
    system: Path
    network: Path
    remote_memory: Path
    comm_group: Path | None
    folder: Path
    physical_topology: Path | None = None
    packet_config: Path | None = None
    next_hops: Path | None = None


def read_command(options: Mapping[str, object], notes: list[str]) -> CommandOptions:
    """The command-line options that change the simulation.

    Options that ASTRA-sim parses without using them are accepted silently, others with a remark.

    Raises:
        ConfigError: A value is of the wrong kind or out of range.
    """
    for key in options:
        if key not in _USED and key not in IGNORED:
            hint = did_you_mean(key, (*_USED, *IGNORED))
            notes.append(f"the option --{key} is ignored{hint}.")
    scale = _number(options, "injection-scale", 1.0)
    if scale < 0:
        raise ConfigError("--injection-scale", "must be 0 or more", got=scale)
    return CommandOptions(
        queues_per_dimension=_count(options, "num-queues-per-dim"),
        inter_dimension=_order(options),
        communication_streams=_count(options, "communication-streams"),
        compute_slots=_count(options, "compute-slots"),
        injection_scale=scale,
        rendezvous=_switch(options, "rendezvous-protocol"),
        common_order=_common_order(options),
        whole_log=_choice(options, "log-style", _LOG_STYLES) == "astra",
        folding=not _switch(options, "no-folding"),
        npu_scale=str(options.get("npu-scale", "")),
        placement=_placement(options),
    )


def _choice(options: Mapping[str, object], key: str, choices: Sequence[str]) -> str:
    """One of *choices*, the first by default."""
    value = str(options.get(key, choices[0]))
    if value not in choices:
        rule = f"must be one of {', '.join(choices)}{did_you_mean(value, choices)}"
        raise ConfigError(f"--{key}", rule, got=value)
    return value


def _placement(options: Mapping[str, object]) -> str:
    """The placement as it is told; nothing where it is not."""
    told = str(options.get("placement", AS_IS))
    if told in ("", "true"):
        raise ConfigError("--placement", "must name a placement, a list or a file", got=told)
    return "" if told == AS_IS else told


def _order(options: Mapping[str, object]) -> str:
    choices = [policy.replace("_", "-") for policy in POLICIES]
    return _choice(options, "inter-dimension-scheduling", choices).replace("-", "_")


def _common_order(options: Mapping[str, object]) -> bool:
    common = _choice(options, "group-order", _GROUP_ORDERS) == "common"
    if common and _count(options, "communication-streams") > 1:
        streams = options["communication-streams"]
        rule = "must be 1 with --group-order=common, which runs collectives one by one"
        raise ConfigError("--communication-streams", rule, got=streams)
    return common


def _count(options: Mapping[str, object], key: str) -> int:
    value = _number(options, key, 1)
    if not 1 <= value < _TOO_MANY or value != int(value):
        raise ConfigError(
            f"--{key}", f"must be a whole number from 1 to {_TOO_MANY - 1}", got=value
        )
    return int(value)


def _number(options: Mapping[str, object], key: str, default: float) -> float:
    value = options.get(key, default)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = nan
    if not isfinite(number):
        raise ConfigError(f"--{key}", "must be a number", got=value)
    return number


def _switch(options: Mapping[str, object], key: str) -> bool:
    value = str(options.get(key, "false")).lower()
    if value in ("true", "t", "1", ""):
        return True
    if value in ("false", "f", "0"):
        return False
    raise ConfigError(f"--{key}", "must be true or false", got=value)
