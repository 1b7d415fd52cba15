"""A step of inference with a transformer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.terms import Precision
from simcore.workload.base import Extent, Rule, Workload
from simcore.workload.expert_load import ExpertLoad
from simcore.workload.kinds.inference.share import ServingShare
from simcore.workload.model import LayerKind, Model
from simcore.workload.plan import ParallelPlan
from simcore.workload.rules import token_rules
from simcore.workload.share import visible_share
from simcore.workload.workload import TrainingWorkload

_TRAINING_KEYS = ("optimizer", "gradient_format")
"""Keys of every kind that mean nothing here."""
_OTHER_RULES = ("sequence_divides", "sequence_divides_by_cp")


class InferenceWorkload(Workload):
    """One step of inference: forward passes alone, and the choice of a token for each sequence.

    A token does what it does in the forward pass of training, so rules and shares are those of a
    training workload whose sequences are the tokens that the step reads.

    Source: R. Pope et al., "Efficiently Scaling Transformer Inference", MLSys 2023, sections 2-3
    (prefill and decode, weights and cache as what decode reads).

    Attributes:
        step: ``prefill``: whole prompts are read, up to the first token of the answer; ``decode``:
            each sequence gets one more token.
        sequence: Tokens of a prompt; in ``decode``, tokens that the new one sees, itself included.
        dispatch_format: In which tokens travel to routed experts; by default as activations.
        expert_load: How evenly the tokens spread over the routed experts.
    """

    trains: ClassVar[bool] = False

    kind: Literal["inference"] = "inference"
    model: Model
    step: Literal["prefill", "decode"]
    sequence: int = Field(ge=1)
    dispatch_format: Precision | None = None
    expert_load: ExpertLoad = Field(default_factory=ExpertLoad)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key in _TRAINING_KEYS:
            given = getattr(self, key)
            if given != type(self).model_fields[key].default:
                raise ConfigError(key, "must not be given: inference trains nothing", got=given)
        model = self.model
        if not model.causal or model.encoder_layers or model.vision or model.mamba:
            rule = "must be a decoder of attention and MLP or experts for inference"
            raise ConfigError("model", rule, got=model.name)
        return self

    @property
    def time_name(self) -> str:
        return {"prefill": "time to first token", "decode": "time per output token"}[self.step]

    @property
    def tokens(self) -> int:
        """Tokens that the step reads: those of the prompts, or one of each sequence."""
        return self.global_batch * self._read

    @property
    def gradient_bytes(self) -> int:
        return 0

    @property
    def model_flop(self) -> float:
        """2 T N for the products of T tokens, 2 V h per sequence, and the attention core.

        Source: D. Narayanan et al., SC 2021, appendix (its forward pass).
        """
        model = self.model
        products = self.tokens * model.active_matrix_parameters
        products += self.global_batch * model.embedding_parameters
        heads = model.heads * (model.head_width + model.value_head_width)
        return 2.0 * products + 2.0 * self.tokens * self._seen * heads

    @property
    def _seen(self) -> float:
        """Tokens that one token sees in all layers, on average."""
        model, length = self.model, self.sequence
        whole = model.count("latent" if model.latent else "attention")
        windowed = model.count("windowed")
        if self.step == "decode":
            return whole * length + windowed * self._windowed
        part = min(1.0, model.window / length)
        return length * (
            whole * visible_share(model) + windowed * visible_share(model, window=part)
        )

    def rules(self, plan: ParallelPlan) -> Iterator[Rule]:
        for rule in token_rules(self._forward, plan):
            if rule[1] not in _OTHER_RULES:
                yield rule
        rows = plan.micro_batch * self._read
        yield (
            not plan.splits_sequence or rows % plan.tp == 0,
            "tokens_divide_by_tp",
            f"{rows} tokens of a micro-batch do not divide by tp = {plan.tp}, as "
            "sequence_parallel needs",
        )
        yield from _forward_rules(plan)

    def share(self, plan: ParallelPlan) -> ServingShare:
        share = ServingShare.of(self._forward, plan)
        share = replace(share, mask_bytes=0, sampled=plan.micro_batch)
        if self.step == "prefill":
            return share
        return replace(share, windowed_keys=self._windowed).with_cache(self.sequence)

    def notes(self, plan: ParallelPlan) -> tuple[str, ...]:
        if plan.pp == 1:
            return ()
        return (
            "the step begins on an idle pipeline and ends with its last micro-batch; the waiting "
            "would be filled where other steps follow at once",
        )

    def cache_bytes(self, plan: ParallelPlan, layers: Sequence[LayerKind]) -> int:
        """Keys and values, or latents, of all sequences of one NPU."""
        share, sequences = self.share(plan), self.global_batch // plan.dp
        elements = 0
        for part, count in Counter(part for kind in layers for part in kind).items():
            tokens = self._windowed if part == "windowed" else self.sequence
            elements += count * tokens * share.cached_elements(str(part))
        return self.element_bytes * sequences * elements

    def extent(self, plan: ParallelPlan) -> Extent:
        extent, model = self._forward.extent(plan), self.model
        width = model.head_width + model.value_head_width
        if model.latent:
            width += model.latent.key_value_rank + model.latent.rotary_width
        scores = plan.micro_batch * self._read * self.sequence * model.heads * width
        return replace(
            extent,
            buffer_bytes=max(extent.buffer_bytes, 4 * scores),
            layer_flop=16 * scores,
        )

    @property
    def _read(self) -> int:
        """Tokens of one sequence that the step reads."""
        return self.sequence if self.step == "prefill" else 1

    @property
    def _windowed(self) -> int:
        """Tokens of a sequence that layers with windowed attention see and keep."""
        return min(self.sequence, self.model.window)

    @property
    def _forward(self) -> TrainingWorkload:
        """The training workload with the same forward pass of the tokens that the step reads."""
        return TrainingWorkload(
            model=self.model,
            sequence=self._read,
            global_batch=self.global_batch,
            precision=self.precision,
            weight_format=self.weight_format,
            dispatch_format=self.dispatch_format,
            expert_load=self.expert_load,
        )


def _forward_rules(plan: ParallelPlan) -> Iterator[Rule]:
    """What only training can choose must be as it is by default."""
    yield plan.cp == 1, "sequence_is_whole", "workloads of kind inference take cp 1 only"
    yield (
        plan.zero_stage == 0 and plan.recompute == "none" and plan.updates.kind == "all_reduce",
        "nothing_is_updated",
        "workloads of kind inference take zero_stage 0, recompute none and updates all_reduce only",
    )
    yield (
        plan.flash_attention,
        "attention_is_fused",
        "workloads of kind inference take flash_attention: true only",
    )
