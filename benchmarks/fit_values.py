"""The values that ``fit_compute.py`` fits: whose they are, what is known of them, their bounds.

What silicon can do is known from kernels that were timed by themselves, so such values stay close
to those; what software costs is known to less than a factor of 2.
"""

from dataclasses import dataclass

SCALE = "scale"
"""Stands for the parts of the peak of products in all formats together."""
LAUNCH_S = 6e-6
"""Time in which a host launches one kernel from PyTorch: 5 to 10 us.

Source: NVIDIA, "Getting Started with CUDA Graphs", 2019 (2.2 us for the launch alone); the rest is
the framework around it."""


@dataclass(frozen=True, slots=True)
class Free:
    """A fitted value.

    Attributes:
        known: What is known of it.
        spread: Standard deviation of that, of its logarithm.
        low, high: Bounds that physics sets.
    """

    known: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Family:
    """Accelerators of one silicon, which share its values.

    Attributes:
        npus: Their files.
        free: What is fitted.
        basis: Family whose values count for all else; none: what the files hold.
        source: Of what is known.
    """

    npus: tuple[str, ...]
    free: dict[str, Free]
    basis: str = ""
    source: str = ""


_TABLES = "kernels of configs/kernels"
_MISALIGNED = Free(0.06, 0.5, 0.02, 1.0)
FAMILIES = {
    "ampere": Family(
        ("a100_80", "a100_40"),
        {
            "gemm": Free(0.85, 0.08, 0.6, 0.97),
            "gemm_ramp_s": Free(5e-6, 0.5, 1e-6, 4e-5),
            "attention": Free(0.60, 0.1, 0.3, 0.75),
            "unfused_attention": Free(0.45, 0.3, 0.1, 0.75),
            "misaligned": _MISALIGNED,
        },
        source=_TABLES,
    ),
    "volta": Family(("v100_32", "v100_16"), {SCALE: Free(1.05, 0.1, 0.6, 1.3)}, "ampere"),
    "hopper": Family(
        ("h100_80", "h200", "h800", "gh200"),
        {
            "gemm": Free(0.78, 0.08, 0.5, 0.9),
            "gemm_narrow": Free(0.66, 0.1, 0.4, 0.75),
            "attention": Free(0.64, 0.1, 0.4, 0.75),
            "scan": Free(0.06, 0.4, 0.01, 0.6),
        },
        source=_TABLES,
    ),
    "hopper_500w": Family(("h100_96",), {SCALE: Free(0.85, 0.1, 0.6, 1.0)}, "hopper"),
    "blackwell": Family(
        ("gb200", "b200"),
        {
            "gemm": Free(0.72, 0.08, 0.4, 0.88),
            "gemm_narrow": Free(0.58, 0.1, 0.35, 0.8),
            "gemm_fp4": Free(0.41, 0.15, 0.2, 0.6),
            "attention": Free(0.56, 0.1, 0.35, 0.75),
            "scan": Free(0.06, 0.4, 0.01, 0.6),
        },
        source=_TABLES,
    ),
    "blackwell_ultra": Family(
        ("gb300", "b300"),
        {
            SCALE: Free(1.04, 0.01, 1.0, 1.1),
            "gemm_fp4": Free(0.30, 0.15, 0.15, 0.5),
            "attention": Free(0.58, 0.04, 0.35, 0.75),
        },
        "blackwell",
        source=_TABLES,
    ),
    "tpu_v3": Family(("tpu_v3", "tpu_v2"), {SCALE: Free(1.0, 0.5, 0.2, 3.0)}),
    "tpu_v5p": Family(
        ("tpu_v5p", "tpu_v4"),
        {"gemm": Free(0.75, 0.1, 0.3, 0.98), "gemm_narrow": Free(0.55, 0.2, 0.2, 0.98)},
    ),
    "tpu_v5e": Family(
        ("tpu_v5e",),
        {"gemm": Free(0.8, 0.1, 0.3, 0.98), "gemm_narrow": Free(0.5, 0.2, 0.2, 0.98)},
    ),
    "tpu_v6e": Family(("tpu_v6e",), {SCALE: Free(0.8, 0.3, 0.2, 1.4)}, "tpu_v5e"),
    "gaudi2": Family(("gaudi2", "gaudi3"), {SCALE: Free(1.0, 0.3, 0.3, 1.8)}),
}

_TRAFFIC = Free(1.5, 0.3, 1.0, 4.0)
_CASTS = Free(6.0, 0.4, 1.0, 20.0)
_ATTENTION = Free(0.85, 0.1, 0.3, 1.0)
_WAITING = Free(1e-4, 0.8, 1e-6, 1e-3)
_ROUTING = Free(3.0, 0.4, 1.0, 10.0)
_GROUP = Free(8e-6, 0.7, 1e-6, 1e-4)
SHARED: dict[str, tuple[tuple[str, ...], dict[str, Free]]] = {
    "pytorch": (
        (
            *("megatron_2021", "megatron_2022", "megatron_deepspeed_2022", "megatron_core_2022"),
            *("pytorch_fsdp1", "pytorch_fsdp2", "megatron_core_2024", "megatron_core_2025"),
        ),
        {"launches": Free(10.0, 0.5, 1.0, 40.0)},
    ),
    "megatron_core": (
        ("megatron_core_2024", "megatron_core_2025"),
        {
            "casts": _CASTS,
            "routing": _ROUTING,
            "group_s": _GROUP,
        },
    ),
}
"""What stacks share, and which."""
STACKS: dict[str, dict[str, Free]] = {
    "megatron_2021": {"traffic": _TRAFFIC},
    "megatron_2022": {"traffic": _TRAFFIC},
    "megatron_deepspeed_2022": {
        "traffic": _TRAFFIC,
        "attention": _ATTENTION,
    },
    "megatron_core_2022": {"traffic": _TRAFFIC, "attention": _ATTENTION},
    "pytorch_fsdp1": {
        "traffic": _TRAFFIC,
        "casts": _CASTS,
        "attention": _ATTENTION,
    },
    "pytorch_fsdp2": {
        "traffic": _TRAFFIC,
        "casts": _CASTS,
        "attention": _ATTENTION,
    },
    "megatron_core_2024": {
        "traffic": _TRAFFIC,
        "attention": Free(0.85, 0.15, 0.4, 1.0),
        "routing_s": _WAITING,
    },
    "megatron_core_2025": {
        "traffic": _TRAFFIC,
        "attention": Free(0.9, 0.1, 0.4, 1.0),
        "routing_s": _WAITING,
    },
    "megatron_core_2026": {
        "traffic": _TRAFFIC,
        "casts": _CASTS,
        "routing": _ROUTING,
        "group_s": _GROUP,
    },
}
