"""Parallel plans: the work spread over the NPUs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator

from simcore.errors import ConfigError
from simcore.schema import Bytes, Schema
from simcore.workload.offload import OWN, Offload
from simcore.workload.schedules import SCHEDULES
from simcore.workload.updates import Updates

AXIS_ORDER: tuple[Literal["tp", "cp", "ep", "dp", "pp"], ...] = ("tp", "cp", "ep", "dp", "pp")
"""Order of Megatron-LM, where NPUs of a tensor parallel group are neighbours."""

_ALL_REDUCED, _ALL_HERE = Updates(), Offload()
"""Updates and places of most plans, one object each: the same object need not be compared."""

RecomputedPart = Literal["norms", "activations", "latent_heads", "mlp", "experts"]
"""Name of a part of layers that may be repeated by itself."""

_MODULES = {
    "layernorm": "norms",
    "moe_act": "activations",
    "mla_up_proj": "latent_heads",
    "moe": "experts",
}
"""Names of Megatron-LM's ``recompute_modules`` and of the parts that they mean here."""


class ParallelPlan(Schema):
    """Degrees of parallelism and related choices.

    npus = tp x cp x dp x pp. To routed experts the NPUs of a stage, tp x cp x dp, are etp x ep x
    replicas of the experts.

    Attributes:
        tp: Tensor parallel degree.
        cp: Context parallel degree: the sequence split through attention.
        cp_kind: How the attention core sees other parts of the sequence: ``all_gather`` of keys and
            values, ``ring`` (they go round while it works), ``ulysses`` (an all-to-all gives each
            NPU the whole sequence for some heads).
        pp: Pipeline stages.
        dp: Data parallel degree.
        ep: Expert parallel degree: the experts of a layer are spread over that many NPUs (or
            groups of etp NPUs), each of which has tokens of its own.
        etp: Expert tensor parallel degree: NPUs that split each expert; tp if not given.
        dispatch_group: Neighbours of an expert parallel group (those of a node) to which a token is
            sent once, and which pass it on among themselves; if not given, every expert is sent a
            copy.
        micro_batch: Sequences per micro-batch on one data parallel rank.
        interleave_group: Micro-batches that pass one chunk of each stage before they pass the next
            one, at least pp of them, which is what they are if not given.
        sequence_parallel: Norms and residuals split over the tensor parallel group.
        interleave: Chunks of layers on each stage (virtual stages); above 1 the stages pass each
            micro-batch around that often.
        zero_stage: 0: nothing is sharded over data parallelism; 1: the optimizer state; 2: and
            gradients, scattered after each backward pass; 3: and weights, gathered for each pass.
        scatter_each: With zero_stage 2 and 3, gradients are scattered after each backward pass;
            False: they are summed whole on every NPU and scattered once, with those of the last
            micro-batch.
        shard: NPUs of a data parallel group (dp x cp) that share what zero_stage shards; further
            ones hold copies and add up their gradients (hybrid sharding). The whole group if not
            given. Routed experts are always sharded over all their replicas.
        reshard: With zero_stage 3, weights are dropped after the forward pass and gathered again
            for the backward pass.
        prefetch: With zero_stage 3 or offloaded data, how many layers ahead that is brought in.
        bucket: Least bytes of gradients that are reduced at once with zero_stage 0 and 1 (the last
            bucket may be smaller); each layer, the head and the table by themselves if not given.
        overlap_tensor: Tensor parallel collectives run beside the products whose operands they
            bring or whose results they add up, tile by tile; False: before and after them.
        overlap_gradients: Each gradient bucket is reduced as soon as it is complete, beside the
            rest of the backward pass; False: all are reduced after it.
        overlap_weights: With zero_stage 1 and 2, the new weights are gathered layer by layer beside
            the first forward pass of the next iteration; False: all at once after the optimizer.
        recompute: Forward work repeated in the backward pass: ``none``, ``selective`` (the
            attention core; flash attention does so anyway), ``full`` (the whole layer).
        recompute_layers: With ``full``, the layers at the start of each chunk that are repeated;
            all if not given.
        recompute_every: With ``full``, only the input of every n-th layer is kept, and n layers
            are needed at once while they are repeated.
        recompute_parts: What is repeated of layers that are not repeated as a whole: outputs of the
            ``norms`` before products, of the ``activations`` within MLPs and experts, and
            ``latent_heads``, the queries, keys and values made of latents, because they are cheap
            and large; or all of a dense ``mlp`` or of the routed ``experts``, with what they
            communicate. Names of Megatron-LM's ``recompute_modules`` mean the same (``layernorm``,
            ``moe_act``, ``mla_up_proj``, ``moe``; ``core_attn`` is recompute: selective).
        chunk_layers: Layers of each chunk in the order of the model, pp x interleave numbers; as
            equal as possible if not given, the early ones with one more.
        order: Axes from the one whose NPUs have neighbouring ids to the one whose NPUs are furthest
            apart: what is first lies on the innermost network dimensions. In the place of tp and
            dp experts have etp and their replicas. Megatron's order if not given. In files also as
            one word, ``tp-cp-ep-dp-pp``.
        schedule: Order of the micro-batches on the stages; with ``dualpipe`` (two chunks) the
            second chunks of the stages lie in reverse order.
        updates: How replicas agree on their weights: all-reduce, parameter servers, local training.
        offload: What lies in memory outside the accelerators.
        flash_attention: One fused attention kernel that never stores the scores.
        fused_loss: The loss is one kernel each way; False: each step is a kernel of its own.
        fused_gradients: The product that makes a weight gradient adds it to its sum, and runs while
            the input gradient is summed over the tensor parallel group; False: the sum of the input
            gradient, the product, and the addition follow one another.
        average_loss: The loss of an iteration is averaged over the replicas: an all-reduce of one
            number on the stage that computes it.
        logits: Choice of a token in inference by the NPUs of a tensor parallel group, each of which
            has the logits of a part of the vocabulary: ``largest``: they agree on the largest one;
            ``all_gather``: each of them has all and chooses (as vLLM and SGLang do); ``gather``:
            the first one has all, chooses, and tells the others (vLLM's other way).
        scale_loss: The loss has been multiplied by a factor, so that small gradients are no zeros
            in fp16: gradients are divided by it, and all NPUs agree on whether one is no number.
    """

    tp: int = Field(default=1, ge=1)
    cp: int = Field(default=1, ge=1)
    cp_kind: Literal["all_gather", "ring", "ulysses"] = "all_gather"
    pp: int = Field(default=1, ge=1)
    dp: int = Field(default=1, ge=1)
    ep: int = Field(default=1, ge=1)
    etp: int | None = Field(default=None, ge=1)
    dispatch_group: int | None = Field(default=None, ge=1)
    micro_batch: int = Field(default=1, ge=1)
    interleave: int = Field(default=1, ge=1)
    interleave_group: int | None = Field(default=None, ge=1)
    sequence_parallel: bool = False
    zero_stage: int = Field(default=0, ge=0, le=3)
    scatter_each: bool = True
    shard: int | None = Field(default=None, ge=1)
    reshard: bool = True
    prefetch: int = Field(default=1, ge=0)
    bucket_bytes: Bytes | None = Field(default=None, gt=0, alias="bucket")
    overlap_tensor: bool = False
    overlap_gradients: bool = True
    overlap_weights: bool = False
    recompute: Literal["none", "selective", "full"] = "none"
    recompute_layers: int | None = Field(default=None, ge=1)
    recompute_every: int = Field(default=1, ge=1)
    recompute_parts: tuple[RecomputedPart, ...] = ()
    chunk_layers: tuple[Annotated[int, Field(ge=1)], ...] = ()
    order: tuple[Literal["tp", "cp", "ep", "dp", "pp"], ...] = AXIS_ORDER
    schedule: str = "1f1b"
    updates: Updates = Field(default_factory=lambda: _ALL_REDUCED)
    offload: Offload = Field(default_factory=lambda: _ALL_HERE)
    flash_attention: bool = True
    fused_loss: bool = True
    fused_gradients: bool = True
    average_loss: bool = False
    logits: Literal["largest", "all_gather", "gather"] = "largest"
    scale_loss: bool = False

    @field_validator("recompute_parts", mode="before", json_schema_input_type=tuple[str, ...])
    @classmethod
    def _name_parts(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return tuple(dict.fromkeys(_MODULES.get(part, part) for part in map(str, value)))

    @field_validator("schedule")
    @classmethod
    def _check_schedule(cls, value: str) -> str:
        if value not in SCHEDULES:
            raise SCHEDULES.unknown(value)
        return value

    @field_validator("order", mode="before", json_schema_input_type=str | tuple[str, ...])
    @classmethod
    def _split_order(cls, value: object) -> object:
        return tuple(value.split("-")) if isinstance(value, str) else value

    @field_validator("order")
    @classmethod
    def _check_order(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if sorted(value) != ["cp", "dp", "ep", "pp", "tp"]:
            raise ConfigError("", "must name each of tp, cp, ep, dp and pp once", got=value)
        return value

    @property
    def npus(self) -> int:
        return self.tp * self.cp * self.pp * self.dp

    @property
    def npus_per_stage(self) -> int:
        return self.tp * self.cp * self.dp

    @property
    def strides(self) -> dict[str, int]:
        """Distance in NPU ids of neighbours along tp, cp, dp and pp."""
        return _strides(self.order, {"tp": self.tp, "cp": self.cp, "dp": self.dp, "pp": self.pp})

    @property
    def expert_strides(self) -> dict[str, int]:
        """Distance in NPU ids of neighbours along etp, ep, edp and pp."""
        names = {"tp": "etp", "dp": "edp"}
        sizes = {"etp": self.expert_tp, "ep": self.ep, "edp": self.expert_replicas, "pp": self.pp}
        return _strides([names.get(axis, axis) for axis in self.order], sizes)

    @property
    def chunk_group(self) -> int:
        """Micro-batches that pass one chunk of each stage before they pass the next one."""
        return self.interleave_group or self.pp

    @property
    def mirrors(self) -> bool:
        """The second chunks of the stages lie in reverse order."""
        return SCHEDULES[self.schedule].mirrors

    @property
    def last_stage(self) -> int:
        """The stage that holds the end of the model."""
        return 0 if self.mirrors else self.pp - 1

    @property
    def stage_stride(self) -> int:
        """Distance in NPU ids of neighbouring stages."""
        return self.strides["pp"]

    def npu(self, stage: int, member: int) -> int:
        """Id of an NPU of *stage*, by its number among the NPUs of the stage."""
        outer, inner = divmod(member, self.stage_stride)
        return (outer * self.pp + stage) * self.stage_stride + inner

    def stage_and_member(self, npu: int) -> tuple[int, int]:
        """The inverse of ``npu``."""
        outer, inner = divmod(npu, self.stage_stride)
        return outer % self.pp, outer // self.pp * self.stage_stride + inner

    @property
    def gradient_replicas(self) -> int:
        """NPUs that hold the same weights and add up their gradients: dp x cp."""
        return self.dp * self.cp

    @property
    def shard_npus(self) -> int:
        """NPUs that share what zero_stage shards."""
        return self.shard or self.gradient_replicas

    @property
    def shard_copies(self) -> int:
        """Copies of a sharded state."""
        return self.gradient_replicas // self.shard_npus

    @property
    def scatters_passes(self) -> bool:
        """The gradients of each backward pass are summed over the replicas at once."""
        return self.zero_stage >= 2 and self.scatter_each

    @property
    def streams_weights(self) -> bool:
        """Weights come in for each pass: from other NPUs, or from a tier of memory."""
        return self.zero_stage >= 3 or self.offload.weights != OWN

    @property
    def stores_passes(self) -> bool:
        """The gradients of each backward pass go to a tier of memory at once."""
        return self.offload.gradients != OWN

    @property
    def gathers_again(self) -> bool:
        """Sharded weights are gathered for the backward pass too."""
        return self.zero_stage >= 3 and self.reshard

    @property
    def between_averages(self) -> Self:
        """The plan of the iterations in which replicas that train by themselves stay apart."""
        if self.updates.every <= 1:
            return self
        return self.model_copy(update={"updates": self.updates.model_copy(update={"every": 0})})

    def redone_layers(self, layers: int) -> int:
        """Number of a chunk's *layers*, from its first on, to repeat in the backward pass."""
        if self.recompute != "full":
            return 0
        return min(layers, self.recompute_layers or layers)

    @property
    def repeats_scores(self) -> bool:
        """The attention core is repeated by itself; flash attention does so anyway."""
        return self.recompute == "selective" and not self.flash_attention

    @property
    def expert_tp(self) -> int:
        """NPUs that split one expert."""
        return self.tp if self.etp is None else self.etp

    @property
    def expert_replicas(self) -> int:
        """NPUs that hold the same experts and add up their gradients."""
        return self.npus_per_stage // (self.expert_tp * self.ep)

    @property
    def splits_sequence(self) -> bool:
        """Sequence parallelism does something: asked for, and tp is above 1."""
        return self.sequence_parallel and self.tp > 1


def fields_but(names: Collection[str]) -> Callable[[ParallelPlan], tuple[object, ...]]:
    """Reader of all fields of a plan but those with these *names*."""
    read = itemgetter(*[name for name in ParallelPlan.model_fields if name not in names])
    return lambda plan: read(plan.__dict__)


def _strides(order: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    strides, below = {}, 1
    for axis in order:
        if axis in sizes:
            strides[axis] = below
            below *= sizes[axis]
    return strides
