"""A step of inference with a transformer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema
from simcore.terms import LayerKind, Precision
from simcore.units import plain_sum
from simcore.workload.base import Extent, Rule, Workload, microbatches
from simcore.workload.kinds.inference.formats import ServingFormats
from simcore.workload.kinds.inference.share import ChunkShare, PromptChunk, ServingShare
from simcore.workload.kinds.transformer.expert_paths import ExpertLoad
from simcore.workload.kinds.transformer.masks import visible_share
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.rules import token_rules
from simcore.workload.kinds.transformer.workload import NamedModel, TrainingWorkload
from simcore.workload.plan import ParallelPlan


class Speculation(Schema):
    """Tokens guessed in each step, and the part of them that holds.

    Source: Y. Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", ICML
    2023, section 3.1.

    Attributes:
        tokens: Guessed tokens of each sequence; the step reads one more.
        acceptance: Chance that a guess holds where all before it did.
        model: Guesses the tokens one after the other, on the same NPUs; None: guessing takes no
            time (n-grams, or heads that are part of the model).
    """

    tokens: int = Field(ge=1, le=1000)
    acceptance: float = Field(ge=0, le=1)
    model: NamedModel | None = None

    @property
    def gained_tokens(self) -> float:
        """Tokens by which a step brings a sequence forward, on average.

        (1 - a^(g + 1)) / (1 - a) for g guesses with the chance a: those that hold before the first
        that does not, and the one that the step puts in its place.

        Source: Leviathan et al., equation 1.
        """
        return float(plain_sum(self.acceptance**guess for guess in range(self.tokens + 1)))


_TRAINING_KEYS = ("optimizer", "gradient_format", "moment_format", "kept_format")
"""Keys of every kind that mean nothing here."""
_DECODE_KEYS = ("chunk", "speculation", "steady")
_TRAINING_RULE = "experts_need_sequence_parallel"
"""Rule of training, where tokens that are the same on all NPUs of a group would be a waste."""
_SEQUENCE_RULES = ("sequence_divides", "sequence_divides_by_cp")


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
        chunk: What a step of ``decode`` reads of prompts beside.
        speculation: What a step of ``decode`` guesses and checks.
        steady: Steps of ``decode`` follow each other without a pause, and what the stages of a
            pipeline wait for in one is the work of the next; False: one step by itself.
        formats: Number formats of weights, experts and cache, in the place of ``precision`` and
            ``weight_format``.
        dispatch_format: In which tokens travel to routed experts; by default as activations.
        expert_load: How evenly the tokens spread over the routed experts.
    """

    trains: ClassVar[bool] = False
    shares_layers: ClassVar[bool] = True

    kind: Literal["inference"] = "inference"
    model: Model
    step: Literal["prefill", "decode"]
    sequence: int = Field(ge=1)
    chunk: PromptChunk | None = None
    speculation: Speculation | None = None
    steady: bool = False
    formats: ServingFormats | None = None
    dispatch_format: Precision | None = None
    expert_load: ExpertLoad = Field(default_factory=ExpertLoad)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key in _TRAINING_KEYS:
            given = getattr(self, key)
            if given != type(self).model_fields[key].default:
                raise ConfigError(key, "must not be given: inference trains nothing", got=given)
        for key in _DECODE_KEYS:
            if self.step != "decode" and getattr(self, key):
                raise ConfigError(key, "needs step: decode", got=self.step)
        if self.formats and (self.weight_format or self.precision is not Precision.BF16):
            rule = "takes the place of precision and weight_format: give it alone"
            raise ConfigError("formats", rule, got=str(self.weight_format or self.precision))
        _check_decoder(self.model, "model")
        if self.speculation and self.speculation.model:
            _check_decoder(self.speculation.model, "speculation.model")
        return self

    @property
    def weight_bytes(self) -> float:
        return self.formats.weight_bytes if self.formats else super().weight_bytes

    @property
    def expert_weight_bytes(self) -> float:
        return self.formats.expert_weight_bytes if self.formats else self.weight_bytes

    @property
    def end_weight_bytes(self) -> float:
        return self.element_bytes if self.formats else self.weight_bytes

    @property
    def product_format(self) -> str:
        return self.formats.narrow[0] if self.formats else super().product_format

    @property
    def time_name(self) -> str:
        return {"prefill": "time to first token", "decode": "time per output token"}[self.step]

    @property
    def tokens(self) -> int:
        """Tokens of the prompts, or one of each sequence that is answered."""
        return self.global_batch * (self.sequence if self.step == "prefill" else 1)

    @property
    def gained_tokens(self) -> float:
        """Tokens by which a step brings each sequence forward."""
        return self.speculation.gained_tokens if self.speculation else 1.0

    @property
    def fills_pipeline(self) -> bool:
        return self.steady

    def with_batch(self, global_batch: int) -> Self:
        """Copy with another batch, and as many prompts for each of its sequences."""
        update: dict[str, object] = {"global_batch": global_batch}
        if chunk := self.chunk:
            prompts = chunk.prompts * global_batch // self.global_batch
            update["chunk"] = chunk.model_copy(update={"prompts": prompts})
        return self.model_copy(update=update)

    @property
    def draft(self) -> "InferenceWorkload | None":
        """A step of the model that guesses, if one does."""
        if self.speculation is None or self.speculation.model is None:
            return None
        update = {"model": self.speculation.model, "chunk": None, "speculation": None}
        return self.model_copy(update=update)

    @property
    def gradient_bytes(self) -> int:
        return 0

    @property
    def model_flop(self) -> float:
        """2 T N for the products of T tokens, 2 V h per sequence, and the attention core.

        Guesses that do not hold are left out; of prompts, what is read per token of the answers.

        Source: D. Narayanan et al., SC 2021, appendix (its forward pass).
        """
        prompt_length = self.sequence if self.step == "prefill" else 0
        flop = self._flop(self.tokens, self.global_batch, prompt_length)
        if chunk := self.chunk:
            whole = self._flop(chunk.prompts * chunk.prompt, chunk.prompts, chunk.prompt)
            flop += whole / (chunk.steps * self.gained_tokens)
        return flop

    def _flop(self, tokens: int, sampled: int, prompt: int) -> float:
        """FLOP of *tokens* of prompts of that length, or of answers, and of *sampled* heads."""
        model = self.model
        products = tokens * model.active_matrix_parameters + sampled * model.embedding_parameters
        heads = model.heads * (model.head_width + model.value_head_width)
        return 2.0 * products + tokens * (2.0 * self._seen(prompt) * heads + model.scan_flop)

    def _seen(self, prompt: int) -> float:
        """Tokens that one token sees in all layers, on average; *prompt* as in ``_flop``."""
        model = self.model
        whole = model.count("latent") + model.count("attention")
        windowed = model.count("windowed") + model.count("indexed")
        if not prompt:
            return whole * self.sequence + windowed * self._windowed(self.sequence)
        part = self._windowed(prompt) / prompt
        return prompt * (
            whole * visible_share(model) + windowed * visible_share(model, window=part)
        )

    def rules(self, plan: ParallelPlan) -> Iterator[Rule]:
        splits = plan.cp > 1 and self.step == "prefill"
        for rule in token_rules(self._forward(self.sequence if splits else 1), plan):
            if (splits or rule[1] not in _SEQUENCE_RULES) and rule[1] != _TRAINING_RULE:
                yield rule
        yield (
            not self.model.has_experts
            or plan.tp == 1
            or plan.splits_sequence
            or plan.expert_tp * plan.ep == plan.tp,
            "experts_fill_tensor_group",
            f"with tp above 1 and no sequence_parallel, etp x ep = {plan.expert_tp} x {plan.ep} "
            f"must be tp = {plan.tp}",
        )
        rows = self._rows(plan)
        yield (
            not plan.splits_sequence or rows % plan.tp == 0,
            "tokens_divide_by_tp",
            f"{rows} tokens of a micro-batch do not divide by tp = {plan.tp}, as "
            "sequence_parallel needs",
        )
        yield from forward_rules(plan, splits_sequence=self.step == "prefill")
        batches = self.global_batch // plan.micro_batch
        if self.chunk and batches:  # that there are some is another rule
            yield (
                self.chunk.prompts % batches == 0,
                "prompts_fill_micro_batches",
                f"chunk.prompts = {self.chunk.prompts} does not divide by the {batches} "
                "micro-batches of all replicas",
            )
        if beside := self.beside(plan):
            yield from draft_rules(*beside)

    def beside(self, plan: ParallelPlan) -> tuple[Workload, ParallelPlan] | None:
        draft = self.draft
        if draft is None:
            return None
        whole = {} if draft.model.has_experts else {"ep": 1, "etp": None, "dispatch_group": None}
        return draft, plan.model_copy(update=whole)

    def share(self, plan: ParallelPlan) -> ServingShare:
        if self.step == "prefill":
            share = self._stored(ServingShare.of(self._forward(self.sequence), plan))
            return replace(share, mask_bytes=0, kept_number_bytes=0, sampled=plan.micro_batch)
        alone = plan.model_copy(update={"micro_batch": 1})
        share = self._stored(ServingShare.of(self._forward(self._rows(plan)), alone))
        prompts = self._prompts(plan)
        return replace(
            share,
            mask_bytes=0,
            kept_number_bytes=0,
            sampled=plan.micro_batch * self._read + prompts,
            sequences=plan.micro_batch,
            windowed_keys=self._windowed(self.sequence),
            chunk=self._chunk_share(prompts, window=0),
            windowed_chunk=self._chunk_share(prompts, window=self.model.keys_seen),
        ).with_cache(self.sequence)

    def _stored(self, share: ServingShare) -> ServingShare:
        """*share* with the formats in which an engine stores and multiplies."""
        return share if self.formats is None else share.in_formats(self.formats)

    def _chunk_share(self, prompts: int, window: int) -> ChunkShare | None:
        if self.chunk is None:
            return None
        return ChunkShare.of(self.chunk, prompts, self.model, window=window)

    def notes(self, plan: ParallelPlan) -> tuple[str, ...]:
        if plan.pp == 1 or self.steady:
            return ()
        return (
            "the step begins on an idle pipeline and ends with its last micro-batch; with "
            "workload.steady the steps of decode follow each other at once",
        )

    def figures(self, time_s: float) -> dict[str, float]:
        """Rate of reading prompts, where the step reads any."""
        if self.step == "prefill":
            return {"prompts_per_s": self.global_batch / time_s}
        if self.chunk is None:
            return {}
        read_s = self.chunk.steps * time_s * self.gained_tokens
        return {"time_to_first_token_s": read_s, "prompts_per_s": self.chunk.prompts / read_s}

    def cache_bytes(self, plan: ParallelPlan, layers: Sequence[LayerKind]) -> int:
        """Keys and values, latents or states, of all sequences and prompts of one NPU."""
        share, elements, others = self.share(plan), 0, 0.0
        lengths = [(self.global_batch, self.sequence)]
        lengths += [(self.chunk.prompts, self.chunk.prompt)] if self.chunk else []
        for part, count in Counter(part for kind in layers for part in kind).items():
            for sequences, length in lengths:
                name, held = str(part), sequences // plan.dp
                tokens = self._windowed(length) if name == "windowed" else length
                elements += held * count * tokens * share.cached_elements(name) // plan.cp
                others += held * count * tokens * share.index_bytes(name) / plan.cp
                others += held * count * share.state_bytes(name)
        cached = self.formats.cached_bytes if self.formats else self.element_bytes
        return ceil(cached * elements + others)

    def cache_moves(self, plan: ParallelPlan, layer: LayerKind) -> tuple[int, int]:
        """All of it in decode, and a token of each sequence; prompts are read into it."""
        held = ceil(self.cache_bytes(plan, (layer,)) / microbatches(self, plan))
        return (0, held) if self.step == "prefill" else (held, ceil(held / self.sequence))

    def extent(self, plan: ParallelPlan) -> Extent:
        model, rows = self.model, self._rows(plan)
        extent = self._forward(rows).extent(plan.model_copy(update={"micro_batch": 1}))
        width = model.head_width + model.value_head_width
        if model.latent:
            width += model.latent.key_value_rank + model.latent.rotary_width
        seen = max(self.sequence, self.chunk.prompt if self.chunk else 0)
        scores = rows * seen * model.heads * width
        return replace(
            extent,
            buffer_bytes=max(extent.buffer_bytes, 4 * scores),
            layer_flop=16 * scores,
        )

    @property
    def _read(self) -> int:
        """Tokens of one sequence that the step reads."""
        if self.step == "prefill":
            return self.sequence
        return 1 + (self.speculation.tokens if self.speculation else 0)

    def _prompts(self, plan: ParallelPlan) -> int:
        """Prompts of which a micro-batch reads a chunk."""
        prompts = self.chunk.prompts if self.chunk else 0
        return prompts * plan.micro_batch // self.global_batch

    def _rows(self, plan: ParallelPlan) -> int:
        """Tokens that a micro-batch reads, those of all NPUs of a context parallel group."""
        chunk = self.chunk.tokens if self.chunk else 0
        return plan.micro_batch * self._read + self._prompts(plan) * chunk

    def _windowed(self, tokens: int) -> int:
        """Tokens that layers with windowed attention see and keep of so many *tokens*."""
        return min(tokens, self.model.keys_seen)

    def _forward(self, sequence: int) -> TrainingWorkload:
        """The training workload with the same forward pass of *sequence* tokens."""
        return TrainingWorkload(
            model=self.model,
            sequence=sequence,
            global_batch=self.global_batch,
            precision=self.precision,
            weight_format=self.weight_format,
            dispatch_format=self.dispatch_format,
            expert_load=self.expert_load,
        )


def _check_decoder(model: Model, at: str) -> None:
    if not model.causal or model.encoder_layers or model.vision:
        rule = "must be a decoder for inference"
        raise ConfigError(at, rule, got=model.name)


def forward_rules(plan: ParallelPlan, *, splits_sequence: bool) -> Iterator[Rule]:
    """Rules that keep training's choices at their defaults.

    Args:
        plan: The plan.
        splits_sequence: There are sequences that cp can split.
    """
    yield splits_sequence or plan.cp == 1, "sequence_is_whole", "step decode takes cp 1 only"
    yield (
        plan.zero_stage == 0 and plan.updates.kind == "all_reduce",
        "nothing_is_updated",
        "workloads of kind inference take zero_stage 0 and updates all_reduce only",
    )
    yield (
        not plan.average_loss and not plan.scale_loss,
        "nothing_is_learned",
        "workloads of kind inference have no loss: average_loss and scale_loss must be false",
    )
    yield (
        plan.recompute == "none" and not plan.recompute_parts,
        "nothing_is_repeated",
        "workloads of kind inference take recompute none and no recompute_parts",
    )
    yield (
        plan.flash_attention,
        "attention_is_fused",
        "workloads of kind inference take flash_attention: true only",
    )


def draft_rules(draft: Workload, plan: ParallelPlan) -> Iterator[Rule]:
    """The model that guesses lies on the same NPUs."""
    yield plan.pp == 1, "draft_is_whole", "speculation.model takes pp 1 only"
    for fits, rule, reason in draft.rules(plan):
        yield fits, rule, f"speculation.model: {reason}"
