"""The training of a transformer."""

from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simcore.errors import ConfigError
from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.terms import Precision
from simcore.workload.base import Extent, Rule, Workload
from simcore.workload.kinds.transformer.expert_paths import ExpertLoad
from simcore.workload.kinds.transformer.masks import visible_share
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.rules import token_rules
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.spans import chunk_spans

if TYPE_CHECKING:  # a check needs no NPU's work
    from simcore.workload.kinds.transformer.share import Share


class TrainingWorkload(Workload):
    """One training iteration of a transformer.

    Attributes:
        sequence: Tokens per sequence; of the decoder, where the model has an encoder too.
        encoder_sequence: Tokens that the encoder reads for each of these sequences.
        dispatch_format: In which tokens travel to routed experts; by default as activations.
        expert_load: How evenly the tokens spread over the routed experts.
    """

    shares_layers: ClassVar[bool] = True

    kind: Literal["transformer"] = "transformer"
    model: Model
    sequence: int = Field(ge=1)
    encoder_sequence: int = Field(default=0, ge=0)
    dispatch_format: Precision | None = None
    expert_load: ExpertLoad = Field(default_factory=ExpertLoad)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.encoder_sequence > 0) != (self.model.encoder_layers > 0):
            rule = "must be above 0 exactly where the model has encoder_layers"
            raise ConfigError("encoder_sequence", rule, got=self.encoder_sequence)
        return self

    @property
    def tokens(self) -> int:
        """Tokens per iteration, those of the encoder included."""
        return self.global_batch * (self.sequence + self.encoder_sequence)

    @property
    def dispatch_bytes(self) -> float:
        """Bytes of one number of a token on its way to the experts."""
        given = self.dispatch_format
        return given.bytes + given.scale_bytes if given else self.element_bytes

    @property
    def model_flop(self) -> float:
        """FLOP of one iteration that the model itself asks for.

        6 T (N + V h) for the products, N being the matrix parameters of the layers that a token
        meets, T the tokens of the stack that it stands in (keys and values of cross attention are
        made of the encoder's); 12 k L T s h for the attention core of L layers (h the width of all
        heads; where keys and values differ, their mean), k being 1/2 under a causal mask and 1
        without, or w - w^2 / 2 where a query sees w of the sequence; three forward passes of the
        scan of Mamba layers; classes count per image. No recompute, padding or element-wise work.

        Source: D. Narayanan et al., SC 2021, appendix, with the masked half of the scores left out.
        """
        model, sequences = self.model, self.global_batch
        own, encoder = sequences * self.sequence, sequences * self.encoder_sequence
        read = model.matrix_parameters(model.layer_kinds[: model.encoder_layers])
        read += model.cross_key_value_parameters
        told = model.active_matrix_parameters - read + model.embedding_parameters
        products = own * told + encoder * read + sequences * model.class_parameters
        scores = own * self._seen + encoder * model.encoder_layers * self.encoder_sequence
        heads = model.heads * (model.head_width + model.value_head_width)
        return 6.0 * products + 6.0 * scores * heads + 3.0 * own * model.scan_flop

    @property
    def _seen(self) -> float:
        """Tokens that one token of the decoder, or of the only stack, sees in all layers."""
        model = self.model
        layers = model.count("latent") + model.count("attention")
        window = min(1.0, model.keys_seen / self.sequence)
        limited = model.count("windowed") + model.count("indexed")
        seen = layers * visible_share(model) + limited * visible_share(model, window=window)
        return seen * self.sequence + model.count("cross") * self.encoder_sequence

    def rules(self, plan: ParallelPlan) -> Iterator[Rule]:
        return token_rules(self, plan)

    def share(self, plan: ParallelPlan) -> "Share":
        from simcore.workload.kinds.transformer.blocks.share import TransformerShare

        return TransformerShare.of(self, plan)

    def message_bytes(self, plan: ParallelPlan, share: NpuShare) -> tuple[int, ...]:
        """Within the decoder the encoder's output travels along, and its gradient back."""
        encoder_layers = self.model.encoder_layers
        if not encoder_layers:
            return (share.thin_bytes,) * plan.pp
        joint = share.thin_bytes + share.entry.thin_bytes
        ends = [span.stop for span in chunk_spans(self, plan)]
        return tuple(share.entry.thin_bytes if end <= encoder_layers else joint for end in ends)

    def extent(self, plan: ParallelPlan) -> Extent:
        model = self.model
        sequence = max(self.sequence, self.encoder_sequence)
        tokens = plan.micro_batch * sequence
        heads = model.heads * (2 * model.head_width + model.value_head_width)
        width = max(model.hidden, model.ffn * model.mlp_inputs, model.vocabulary, heads)
        if experts := model.experts:
            load = self.expert_load.factor(experts.count, plan.ep)
            sent = max(model.hidden, experts.ffn * model.mlp_inputs)
            width = max(width, ceil(load * experts.active * sent), experts.shared_ffn)
        if mamba := model.mamba:
            inner = mamba.heads * mamba.head_width
            width = max(width, 4 * inner + 2 * mamba.groups * mamba.state)
        if linear := model.linear:
            width = max(width, linear.mixed + 3 * linear.inner)
        return Extent(
            buffer_bytes=4 * tokens * width,
            weights_bytes=4 * model.parameters,
            layer_flop=16 * tokens * sequence * model.heads * model.head_width,
            flop=16 * self.tokens * model.parameters,
        )


def _read(given: object) -> object:
    if not isinstance(given, str):
        return given
    table = read_table(find_config("models", given, at="", beside=None))
    return Model.from_file_data(table, at="")


NamedModel = Annotated[Model, BeforeValidator(_read, json_schema_input_type=Model | str)]
"""A model as a table, a shipped name or a .yaml file."""
