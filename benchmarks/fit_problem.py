"""Errors of measured runs as a function of the fitted values, with slopes, family by family."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from fit_samples import Sample, Samples
from fit_values import FAMILIES, LAUNCH_S, SCALE, SHARED, STACKS, Free
from kernel_table import Flags, Floats

from simcore.machine import Efficiency
from simcore.machine.stack import load_stack

Key = tuple[str, str]
"""Owner, a family or a stack, and name of a value."""

FIELDS = (
    *(
        "gemm",
        "gemm_narrow",
        "gemm_fp4",
        "group_s",
        "gemm_ramp_s",
        "attention",
        "attention_half",
        "attention_backward",
    ),
    *(
        "scan",
        "attention_portable",
        "unfused_attention",
        "misaligned",
        "memory",
        "product_memory",
        "kernel_overhead_s",
    ),
    *("issue_s", "casts", "attention_share", "traffic", "routing", "routing_s"),
)
_STANDS = {
    "gemm_narrow": "gemm",
    "gemm_fp4": "gemm_narrow",
    "scan": "attention",
    "attention_portable": "attention",
    "unfused_attention": "attention",
    "product_memory": "memory",
}
_SCALED = ("gemm", "gemm_narrow", "gemm_fp4")
_OF_STACK = {"launches": "issue_s", "attention": "attention_share"}


def family_of(npu: str) -> str:
    """The family of an accelerator."""
    return next(name for name, family in FAMILIES.items() if npu in family.npus)


def free_values() -> dict[Key, Free]:
    """All fitted values."""
    owners = {**{name: family.free for name, family in FAMILIES.items()}, **STACKS}
    owners |= {name: values for name, (_, values) in SHARED.items()}
    return {
        (owner, name): free for owner, values in owners.items() for name, free in values.items()
    }


def value_of(part: Efficiency, field: str) -> float:
    """A value of *part*, or what stands for it where it is not given."""
    value = getattr(part, field)
    return float(value) if value is not None else value_of(part, _STANDS[field])


@dataclass(frozen=True, slots=True)
class Block:
    """Runs on accelerators that share values, with what each value changes.

    Attributes:
        places: Positions of the runs among all.
        start: Value of each field for each run before the fitted ones are put in.
        touched: For each fitted value that matters here, its field and the runs.
        portable: Runs whose attention kernels are for any accelerator.
    """

    samples: Samples
    places: Sequence[int]
    start: dict[str, Floats]
    touched: dict[Key, tuple[str, Flags]]
    portable: Flags

    def values(self, fitted: dict[Key, float]) -> dict[str, Floats]:
        """Value of each field for each run."""
        found = {field: value.copy() for field, value in self.start.items()}
        follows = found["attention_portable"] == found["attention"]
        for key, (field, runs) in self.touched.items():
            if field != SCALE and key in fitted:
                found[field][runs] = fitted[key] * (LAUNCH_S if key[1] == "launches" else 1.0)
        for key, (field, runs) in self.touched.items():
            if field == SCALE and key in fitted:
                for name in _SCALED:
                    found[name][runs] = np.minimum(0.98, found[name][runs] * fitted[key])
        usual = np.where(follows, found["attention"], found["attention_portable"])
        share = usual / found["attention"]
        found["attention_share"][self.portable] *= np.minimum(1.0, share)[self.portable]
        return found

    def errors(self, fitted: dict[Key, float]) -> Floats:
        """Logarithms of predicted over measured times."""
        return self.samples.errors(self.values(fitted))


def blocks_of(listed: Sequence[Sample]) -> list[Block]:
    """Blocks of runs on families with one basis, which together are all runs."""
    basis = [FAMILIES[family_of(s.npu)].basis or family_of(s.npu) for s in listed]
    return [
        _block(listed, [i for i, other in enumerate(basis) if other == name])
        for name in dict.fromkeys(basis)
    ]


def _block(listed: Sequence[Sample], places: Sequence[int]) -> Block:
    chosen = [listed[i] for i in places]
    parts = [sample.run.platform.npu.efficiency for sample in chosen]
    start = {field: np.array([value_of(part, field) for part in parts]) for field in FIELDS}
    families, stacks = [family_of(s.npu) for s in chosen], np.array([s.stack for s in chosen])
    touched: dict[Key, tuple[str, Flags]] = {}
    for key in free_values():
        owner, name = key
        if owner in SHARED:
            runs = np.isin(stacks, SHARED[owner][0])
        elif owner in STACKS:
            runs = stacks == owner
        else:
            runs = np.array([_has_from(family, owner, name) for family in families])
        if runs.any():
            field = name if owner in FAMILIES else _OF_STACK.get(name, name)
            touched[key] = field, runs
    portable = np.array([load_stack(stack).portable for stack in stacks])
    share = np.minimum(1.0, start["attention_portable"] / start["attention"])
    start["attention_share"][portable] /= share[portable]
    return Block(Samples.of(chosen), places, start, touched, portable)


def _has_from(family: str, owner: str, name: str) -> bool:
    """True if *family* has the value *name* from *owner*."""
    return family == owner or (
        FAMILIES[family].basis == owner and (name not in FAMILIES[family].free)
    )
