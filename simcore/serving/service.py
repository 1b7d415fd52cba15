"""A service: its model, its requests and its two pools of NPUs."""

from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator

from simcore.config import Run
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.schema import Schema
from simcore.serving.machine import part_of
from simcore.terms import Precision
from simcore.workload import ParallelPlan
from simcore.workload.kinds import InferenceWorkload
from simcore.workload.kinds.inference import Speculation
from simcore.workload.kinds.transformer.expert_load import ExpertLoad
from simcore.workload.kinds.transformer.named import NamedModel


class Pool(Schema):
    """NPUs that do one of the two steps of inference.

    Attributes:
        plan: How they share the work; its ``schedule`` is ``forward`` if not given.
        batch: Requests that they work on at once.
    """

    plan: ParallelPlan
    batch: int = Field(ge=1)

    @field_validator("plan", mode="before")
    @classmethod
    def _goes_forward(cls, value: object) -> object:
        return {"schedule": "forward", **value} if isinstance(value, dict) else value


class AnswerPool(Pool):
    """NPUs that answer.

    Attributes:
        speculation: What each of their steps guesses and checks.
    """

    speculation: Speculation | None = None


class Service(Schema):
    """Requests of one kind, served by two pools of NPUs (disaggregated serving).

    The first NPUs of the machine read prompts. The keys and values of each layer travel, as soon as
    they are made, to the NPUs after them, which add one token after another to the answers.

    Source: Y. Zhong et al., "DistServe", OSDI 2024, sections 3-4; P. Patel et al., "Splitwise",
    ISCA 2024, section 4.

    Attributes:
        version: Of the file format.
        model: What answers.
        prompt: Tokens of a prompt.
        answer: Tokens of an answer.
        precision, weight_format, dispatch_format, expert_load: As those of workloads of kind
            ``inference``.
        platform: The machine of both pools.
        prefill: The NPUs that read prompts.
        decode: The NPUs that answer.
        system: How data is moved.
        compute: Compute model.
    """

    version: Literal[1] = 1
    model: NamedModel
    prompt: int = Field(ge=1)
    answer: int = Field(ge=2)
    precision: Precision = Precision.BF16
    weight_format: Precision | None = None
    dispatch_format: Precision | None = None
    expert_load: ExpertLoad = Field(default_factory=ExpertLoad)
    platform: Platform
    prefill: Pool
    decode: AnswerPool
    system: System = Field(default_factory=System)
    compute: str = "recorded"

    @property
    def mean_context(self) -> int:
        """Tokens that a new token sees, on average over an answer."""
        return self.prompt + -(-self.answer // 2)

    @cached_property
    def prefill_run(self) -> Run:
        """The reading of a batch of prompts.

        Raises:
            InfeasibleError: The pool does not tile the machine.
        """
        workload = self._step(step="prefill", sequence=self.prompt, global_batch=self.prefill.batch)
        return self._run("prefill", 0, workload, self.prefill.plan)

    @cached_property
    def decode_run(self) -> Run:
        """A step of the answering of a batch of requests, half of their answers being there.

        Raises:
            InfeasibleError: The pool does not tile the machine.
        """
        workload = self._step(
            step="decode",
            sequence=self.mean_context,
            global_batch=self.decode.batch,
            steady=True,
            speculation=self.decode.speculation,
        )
        return self._run("decode", self.prefill.plan.npus, workload, self.decode.plan)

    def _step(self, **of_step: Any) -> InferenceWorkload:
        shared = ("model", "precision", "weight_format", "dispatch_format", "expert_load")
        return InferenceWorkload.build(**{key: getattr(self, key) for key in shared}, **of_step)

    def _run(self, pool: str, first: int, workload: InferenceWorkload, plan: ParallelPlan) -> Run:
        return Run.build(
            workload=workload,
            platform=part_of(self.platform, first, plan.npus, pool),
            plan=plan,
            system=self.system,
            compute=self.compute,
        )
