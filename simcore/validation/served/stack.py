"""Software of load tests: engines of inference by release."""

from functools import cache
from typing import Self

from pydantic import Field

from simcore.compute.tables.rates import PRODUCT_STREAM
from simcore.config import Run
from simcore.files.resources import find_config, shipped_names
from simcore.files.yaml_file import read_table
from simcore.memory.footprint import footprint
from simcore.schema import Schema, Seconds
from simcore.units import format_memory
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.checkpoints import checkpoint_of
from simcore.validation.served.engine import LONGEST_S
from simcore.workload.kinds.inference import Speculation
from simcore.workload.kinds.inference.workload import InferenceWorkload

GIBI = 2**30 / 1e9
"""Bytes of a GB of memory over those of a GB of a data sheet: memories hold powers of two, and a
board of 80 GB has 80 GiB."""

MOST_GUESSES = 16
"""Tokens that a step may guess."""

_KIND = "serving_stacks"


class ServingStack(Schema):
    """An engine of inference, of some releases.

    Attributes:
        name: Short name, as in ``configs/serving_stacks``.
        engine: Its name in tables of load tests.
        releases: Releases that it stands for, whole or the beginning of their numbers; none: all
            that no other file of the engine names, and rows that tell none.
        kernels: Whose kernels run, a name in tables of kernels; empty: the fastest of any.
        any_experts: Layers of experts are those of the library that engines share on accelerators
            with products in 4 bits: the fastest of any engine.
        narrow_cache: Keys and values are kept in 8 bits; False: where the checkpoint asks for it.
        layer_issue_s: Time in which the host launches the kernels of a layer in each step; 0: steps
            are launched whole, as graphs.
        read_issue_s: Likewise in steps that read prompts, which are no graphs where others are.
        host_step_s: Time of each step in which the accelerators wait for the host, which takes the
            new tokens before it schedules the next step; 0: it schedules while they compute.
        host_sequence_s: Likewise, for each sequence of the step on one copy of the model.
        prepare_step_s: Time of each step before its graph with models in which not all attention is
            to all keys or latents: what states or picked keys need is looked up anew.
        read_tokens: Tokens of prompts that a step reads at most.
        reads_whole: Longer prompts are not cut into pieces.
        reads_alone: Steps that read prompts write no answers.
        visits_all_experts: A step reads the weights of all experts, also of those without tokens.
        puts_tokens: Tokens are written where their experts are, once for each NPU and in the format
            of products; False: by the transfers of sums, once for each expert and in 16 bits.
        guesses: The checkpoint's own module guesses tokens, where a row does not tell.
        memory_part: Part of the memory that it fills.
        of_what_is_left: That is the part of what the weights leave, else of all.
        source: Where the values come from.
    """

    name: str = Field(min_length=1)
    engine: str = Field(min_length=1)
    releases: tuple[str, ...] = ()
    kernels: str = ""
    any_experts: bool = False
    narrow_cache: bool = False
    layer_issue_s: Seconds = Field(default=0.0, alias="layer_issue", ge=0, le=1e-1)
    read_issue_s: Seconds = Field(default=0.0, alias="read_issue", ge=0, le=1e-1)
    host_step_s: Seconds = Field(default=0.0, alias="host_step", ge=0, le=LONGEST_S)
    host_sequence_s: Seconds = Field(default=0.0, alias="host_sequence", ge=0, le=LONGEST_S)
    prepare_step_s: Seconds = Field(default=0.0, alias="prepare_step", ge=0, le=LONGEST_S)
    read_tokens: int = Field(default=8192, ge=1)
    reads_whole: bool = False
    reads_alone: bool = False
    visits_all_experts: bool = False
    puts_tokens: bool = False
    guesses: bool = False
    memory_part: float = Field(default=0.9, gt=0, le=1)
    of_what_is_left: bool = False
    source: str = Field(min_length=1)

    @classmethod
    def load(cls, name: str) -> Self:
        """The shipped stack *name*.

        Raises:
            ConfigError: No such file, or a value in it breaks a rule.
        """
        path = find_config(_KIND, name, at="stack")
        return cls.from_file_data(read_table(path), at=str(path))

    def speculation(self, row: MeasuredRow) -> Speculation | None:
        """Guesses of steps of answering, where a module for that comes with the model.

        The column ``speculation`` tells ``yes``, ``no`` or how many tokens; empty: as the stack
        does.

        Raises:
            UnsupportedRow: The column holds something else, or no shipped model has its shape.
        """
        told, own = row.text("speculation"), checkpoint_of(row.text("model")).speculation
        if told not in ("", "yes", "no") and not (told.isdecimal() and int(told) <= MOST_GUESSES):
            rule = f"yes, no, a number of tokens up to {MOST_GUESSES} or empty"
            raise UnsupportedRow(f"speculation must be {rule}, not '{told}'")
        if own is None or told in ("no", "0") or not (told or self.guesses):
            return None
        return own.model_copy(update={"tokens": int(told)}) if told.isdecimal() else own

    def step_s(self, run: Run, time_s: float) -> float:
        """Time of the step *run*, per token of an answer, whose kernels take *time_s*."""
        workload = run.workload
        assert isinstance(workload, InferenceWorkload)
        if self.visits_all_experts:
            time_s += unread_experts_s(run) / workload.gained_tokens
        reads = workload.step == "prefill" or workload.chunk is not None
        issue_s = max(self.layer_issue_s, self.read_issue_s if reads else 0.0)
        launched_s = issue_s * workload.model.layers / workload.gained_tokens
        host_s = self.host_step_s + run.plan.micro_batch * self.host_sequence_s
        if workload.model.keeps_states or workload.model.count("indexed"):
            host_s += self.prepare_step_s
        return max(time_s, launched_s) + host_s / workload.gained_tokens

    def parts(self, prompt: int) -> int:
        """Steps in which a prompt of so many tokens is read."""
        return 1 if self.reads_whole else -(-prompt // self.read_tokens)

    def holds(self, run: Run) -> bool:
        """True if the weights of *run* leave as much memory as the engine keeps free."""
        told_bytes = self.memory_part * float(run.platform.npu.memory_bytes) * GIBI
        return footprint(run.workload, run.plan).components()["weights"] <= told_bytes

    def most_sequences(self, run: Run) -> int:
        """Sequences of the step *run* of answering for which the memory has room, on all copies.

        Raises:
            UnsupportedRow: The weights alone fill it.
        """
        told_bytes = float(run.platform.npu.memory_bytes) * GIBI
        needed, sequences = (
            footprint(run.workload, run.plan).components(),
            run.workload.global_batch,
        )
        weight_bytes, cache_bytes = needed["weights"], needed["kv cache"]
        if weight_bytes > told_bytes:
            rule = (
                f"weights need {format_memory(weight_bytes, 3)} of {format_memory(told_bytes, 3)}"
            )
            raise UnsupportedRow(f"{rule} on each accelerator: give it more of them")
        taken = weight_bytes * (self.memory_part if self.of_what_is_left else 1.0)
        left_bytes = self.memory_part * told_bytes - taken
        each = int(sequences / run.plan.dp * left_bytes / cache_bytes) if cache_bytes else sequences
        return run.plan.dp * max(1, each)


UNKNOWN = ServingStack.build(
    "stack", name="unknown", engine="(any)", source="rows that name no engine, or another one"
)
"""Software about which nothing is told."""


def unread_experts_s(run: Run) -> float:
    """Time of reading the weights of experts that no token of the step *run* meets.

    Of E experts, each token meets a; n tokens leave out the part (1 - a / E)^n on average.
    """
    workload, plan, npu = run.workload, run.plan, run.platform.npu
    assert isinstance(workload, InferenceWorkload)
    model, chunk = workload.model, workload.chunk
    if model.experts is None:
        return 0.0
    tokens = workload.tokens + (chunk.prompts * chunk.tokens if chunk else 0)
    left = (1 - model.experts.active / model.experts.count) ** tokens
    weights = 3 * model.hidden * model.experts.ffn * model.experts.count * model.count("experts")
    held_bytes = workload.expert_weight_bytes * weights / (plan.ep * plan.expert_tp)
    return left * held_bytes / (PRODUCT_STREAM * npu.memory_bandwidth_bytes_per_s)


def stack_of(row: MeasuredRow) -> ServingStack:
    """The software of *row*: of the longest release that its own begins with."""
    engine, release = row.text("backend"), row.text("backend_version")
    stacks = [stack for stack in _shipped() if stack.engine == engine]
    return max(stacks, key=lambda stack: _fit(stack, release), default=UNKNOWN)


def _fit(stack: ServingStack, release: str) -> int:
    """Characters of *release* by which *stack* is named; 0: it stands for the others; -1: not."""
    fits = [len(each) for each in stack.releases if _begins(release, each)]
    return max(fits, default=-1 if stack.releases else 0)


def _begins(release: str, number: str) -> bool:
    """True if *release* is *number*, or a later part of it, such as 0.8.1 of 0.8 but not 0.80."""
    return release == number or release.startswith((f"{number}.", f"{number}rc", f"{number}-"))


@cache
def _shipped() -> tuple[ServingStack, ...]:
    return tuple(ServingStack.load(name) for name in shipped_names(_KIND))
