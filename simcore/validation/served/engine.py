"""Engines of inference: what they cost beside their kernels."""

from math import log2
from typing import Self

from pydantic import Field

from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.schema import Schema, Seconds

LONGEST_S = 1.0
"""Longest time that the host may spend on a step or a sequence; real ones spend milliseconds."""


class KernelRates(Schema):
    """Parts of the data sheet that an engine reaches where no table holds its kernels.

    Attributes:
        product: Of the peak, in large products; attention reaches in proportion.
        memory: Of the bandwidth, in products of few rows.
        keys: Of the bandwidth, where a step reads keys and values.
        once_per_query_head: Keys and values that a group of query heads shares are read once for
            each of them; False: once for the group.
    """

    product: float = Field(gt=0, le=1)
    memory: float = Field(gt=0, le=1)
    keys: float = Field(gt=0, le=1)
    once_per_query_head: bool = False


class ServingEngine(Schema):
    """An engine of inference on one kind of accelerator.

    Attributes:
        name: Short name, as in ``configs/engines``.
        kernels: Engine whose kernels run, as in ``npu.kernels``; empty: the fastest of any.
        host_step_s: Time of each step in which the accelerators wait for the host: it schedules,
            launches, and takes the new tokens.
        host_sequence_s: Likewise, for each sequence of the step.
        collective_s: Time of each collective of a step beside what the links take: its kernel
            starts and waits for the last of the accelerators.
        expert_imbalance: Tokens that reach the busiest of two accelerators among which experts are
            spread, over the mean, less 1; as much more for every doubling of the accelerators.
        alike: The engine's own benchmark gives all sequences of a batch tokens that meet the same
            experts.
        memory_part: Part of the memory that weights, activations and keys may fill.
        largest_batch: Most sequences of a step on one copy of the model.
        read_tokens: Most tokens of prompts that a step reads on one copy of the model.
        narrow_cache: Keys and values are kept in 8 bits where products have fewer than 16.
        rates: What its kernels reach where no table holds them; None: as measured accelerators.
        source: Where the values come from, and how well they fit what was measured.
    """

    name: str = Field(min_length=1)
    kernels: str = ""
    host_step_s: Seconds = Field(alias="host_step", ge=0, le=LONGEST_S)
    host_sequence_s: Seconds = Field(default=0.0, alias="host_sequence", ge=0, le=LONGEST_S)
    collective_s: Seconds = Field(default=0.0, alias="collective", ge=0, le=LONGEST_S)
    expert_imbalance: float = Field(default=0.0, ge=0, le=1)
    alike: bool = False
    memory_part: float = Field(gt=0, le=1)
    largest_batch: int = Field(ge=1)
    read_tokens: int = Field(ge=1)
    narrow_cache: bool = False
    rates: KernelRates | None = None
    source: str = Field(min_length=1)

    @classmethod
    def load(cls, name: str) -> Self:
        """The shipped engine *name*.

        Raises:
            ConfigError: No such file, or a value in it breaks a rule.
        """
        path = find_config("engines", name, at="engine")
        return cls.from_file_data(read_table(path), at=str(path))

    @property
    def on_accelerators(self) -> tuple[object, ...]:
        """All that decides what the accelerators do: engines that agree in it have equal steps."""
        loads = self.expert_imbalance, self.alike, self.narrow_cache
        return self.kernels, self.rates, *loads, self.memory_part, self.read_tokens

    def imbalance(self, accelerators: int) -> float:
        """Tokens that reach the busiest of so many *accelerators* with experts, over the mean."""
        return 1.0 + self.expert_imbalance * log2(accelerators)

    def idle_s(self, sequences: int, collectives: int) -> float:
        """Time of a step of so many *sequences* in which the accelerators compute nothing."""
        waits_s = self.host_step_s + sequences * self.host_sequence_s
        return waits_s + collectives * self.collective_s
