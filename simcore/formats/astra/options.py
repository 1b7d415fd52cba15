"""What one run of ASTRA-sim is given: files, and options of its command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simcore.errors import ConfigError
from simcore.formats.astra.system_file import CommandOptions
from simcore.registry import did_you_mean

BACKENDS = ("congestion_unaware", "congestion_aware", "congestion_aware_multidim")
IGNORED = ("compute-scale", "comm-scale", "logging-configuration", "logging-folder")
_USED = ("num-queues-per-dim", "injection-scale", "rendezvous-protocol")


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
    """

    workload: Path
    system: Path
    network: Path
    remote_memory: Path
    comm_group: Path | None
    folder: Path


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
    queues = _number(options, "num-queues-per-dim", 1)
    if queues < 1 or queues != int(queues):
        raise ConfigError("--num-queues-per-dim", "must be a whole number above 0", got=queues)
    scale = _number(options, "injection-scale", 1.0)
    if scale < 0:
        raise ConfigError("--injection-scale", "must be 0 or more", got=scale)
    return CommandOptions(
        queues_per_dimension=int(queues),
        injection_scale=scale,
        rendezvous=_switch(options, "rendezvous-protocol"),
    )


def _number(options: Mapping[str, object], key: str, default: float) -> float:
    value = options.get(key, default)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ConfigError(f"--{key}", "must be a number", got=value) from None


def _switch(options: Mapping[str, object], key: str) -> bool:
    value = str(options.get(key, "false")).lower()
    if value in ("true", "t", "1", ""):
        return True
    if value in ("false", "f", "0"):
        return False
    raise ConfigError(f"--{key}", "must be true or false", got=value)
