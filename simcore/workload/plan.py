"""How the work is spread over the NPUs."""

from typing import Literal

from pydantic import Field, field_validator

from simcore.schema import Schema
from simcore.workload.schedules import SCHEDULES


class ParallelPlan(Schema):
    """Degrees of parallelism and related choices.

    NPUs are numbered with tensor parallelism fastest, then context, data and pipeline
    parallelism (Megatron's order), so npus = tp x cp x dp x pp.

    Attributes:
        tp: Tensor parallel degree.
        cp: Context parallel degree: the sequence split through attention; keys and values are
            gathered before the attention core.
        pp: Pipeline stages.
        dp: Data parallel degree.
        micro_batch: Sequences per micro-batch on one data parallel rank.
        sequence_parallel: Norms and residuals split over the tensor parallel group.
        interleave: Chunks of layers on each stage (virtual stages); above 1 the stages pass each
            micro-batch around that often.
        zero_stage: 0: nothing is sharded over data parallelism; 1: the optimizer state; 2: and
            gradients, scattered after each backward pass; 3: and weights, gathered for each pass.
        recompute: Forward work repeated in the backward pass: ``none``, ``selective`` (the
            attention core; flash attention does so anyway), ``full`` (the whole layer).
        schedule: Order of the micro-batches on the stages.
        flash_attention: One fused attention kernel that never stores the scores.
    """

    tp: int = Field(default=1, ge=1)
    cp: int = Field(default=1, ge=1)
    pp: int = Field(default=1, ge=1)
    dp: int = Field(default=1, ge=1)
    micro_batch: int = Field(default=1, ge=1)
    interleave: int = Field(default=1, ge=1)
    sequence_parallel: bool = False
    zero_stage: int = Field(default=0, ge=0, le=3)
    recompute: Literal["none", "selective", "full"] = "none"
    schedule: str = "1f1b"
    flash_attention: bool = True

    @field_validator("schedule")
    @classmethod
    def _check_schedule(cls, value: str) -> str:
        if value not in SCHEDULES:
            raise SCHEDULES.unknown(value)
        return value

    @property
    def npus(self) -> int:
        return self.tp * self.cp * self.pp * self.dp

    @property
    def npus_per_stage(self) -> int:
        return self.tp * self.cp * self.dp

    @property
    def gradient_replicas(self) -> int:
        """NPUs that hold the same weights and add up their gradients: dp x cp."""
        return self.dp * self.cp

    @property
    def splits_sequence(self) -> bool:
        """Sequence parallelism does something: asked for, and tp is above 1."""
        return self.sequence_parallel and self.tp > 1
