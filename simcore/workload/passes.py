"""The forward and backward pass through one layer, the token table and the output head.

Work between two communications is one compute node. Element-wise work between a reduce-scatter
and the all-gather that follows it is counted in the compute node after the all-gather: nothing
else can run in between, so the sum of times is the same with fewer nodes.

The weight gradient of the first product of a block is a node of its own, which runs beside the
communication of the input gradient; all other weight gradients are in the chain.

With ZeRO 2 and 3 each layer's gradients are scattered after each of its backward passes. With
ZeRO 3 its weights are gathered before each pass, while the layer before is at work: at most two
layers' weights are on their way or in use. The table and the head are gathered once per forward
pass and the head kept for the backward pass.

Source: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
MLSys 2023, sections 4.2.1-4.2.2 (collectives of tensor and sequence parallelism); M. Shoeybi et
al., arXiv:1909.08053, section 3 (tensor parallelism, vocabulary-parallel loss); Y. Zhao et al.,
"PyTorch FSDP", VLDB 2023, sections 3.2-3.3 (units and prefetch of ZeRO 3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simcore.workload import ends
from simcore.workload.blocks import Block
from simcore.workload.gradients import Bucket
from simcore.workload.graph import Phase
from simcore.workload.model import LayerKind
from simcore.workload.piece import Piece
from simcore.workload.work import Means, Part, Work

Gate = Sequence[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMeans:
    """What one NPU holds of a layer: its blocks, and its weights in buckets."""

    blocks: tuple[Block, ...]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passes:
    """Writes the pieces of a forward or backward pass.

    *entry* is what a piece waits for, *gate* what the gathering of its weights waits for; None:
    they are there.

    Attributes:
        layers: Of each kind of layer.
        head, table: Weights of output head and token table.
    """

    means: Means
    layers: Mapping[LayerKind, LayerMeans]
    head: Bucket
    table: Bucket

    def gathering(self, buckets: Sequence[Bucket]) -> Piece:
        """All-gathers that wait for nothing and for which nothing waits."""
        work = Work(self.means, ())
        work.phase(Phase.FORWARD)
        work.gather_weights(buckets, ())
        return work.piece()

    def forward_layer(self, kind: LayerKind, entry: Sequence[int], gate: Gate) -> Piece:
        work = Work(self.means, entry, layer=0)
        if gate is not None:
            work.gather_weights(self.layers[kind].buckets, gate)
        self._run_layer(kind, work, Phase.FORWARD)
        return work.piece()

    def backward_layer(self, kind: LayerKind, entry: Sequence[int], gate: Gate) -> Piece:
        return self._backward_layer(kind, entry, gate, redone=False)

    def redone_layer(self, kind: LayerKind, entry: Sequence[int], gate: Gate) -> Piece:
        """The forward pass once more, then the backward pass."""
        return self._backward_layer(kind, entry, gate, redone=True)

    def layer_inputs(self, kind: LayerKind, entry: Sequence[int], gate: Gate) -> Piece:
        """The backward pass but for the weight gradients."""
        return self._gradients(kind, entry, Part.INPUT_GRADIENTS)

    def layer_weights(self, kind: LayerKind, entry: Sequence[int], gate: Gate) -> Piece:
        """The weight gradients."""
        return self._gradients(kind, entry, Part.WEIGHT_GRADIENTS)

    def _gradients(self, kind: LayerKind, entry: Sequence[int], part: Part) -> Piece:
        work = Work(self.means, entry, layer=0, part=part)
        work.phase(Phase.BACKWARD)
        for block in reversed(self.layers[kind].blocks):
            block.backward(work)
        return work.piece()

    def _backward_layer(
        self, kind: LayerKind, entry: Sequence[int], gate: Gate, *, redone: bool
    ) -> Piece:
        layer = self.layers[kind]
        work = Work(self.means, entry, layer=0)
        work.phase(Phase.BACKWARD)
        if gate is not None:
            work.gather_weights(layer.buckets, gate)
        if redone:
            self._run_layer(kind, work, Phase.RECOMPUTE)
        work.phase(Phase.BACKWARD)
        for block in reversed(layer.blocks):
            block.backward(work)
        work.scatter_gradients(layer.buckets)
        return work.piece()

    def embedding_forward(self, entry: Sequence[int], gate: Gate) -> Piece:
        work = Work(self.means, entry)
        work.phase(Phase.FORWARD)
        if gate is not None:
            work.gather_weights([self.table], gate)
        work.compute("embedding", ends.embedding(self.means.share))
        work.reduce("embedding")
        return work.piece()

    def embedding_backward(self, entry: Sequence[int]) -> Piece:
        work = Work(self.means, entry)
        work.phase(Phase.BACKWARD)
        work.gather("embedding gradient")
        kernels = ends.embedding_gradient(self.means.share, self.means.plan.tp)
        work.compute("embedding", kernels)
        work.scatter_gradients([self.table])
        return work.piece()

    def head_forward(self, entry: Sequence[int], gate: Gate) -> Piece:
        """Output head and the vocabulary-parallel cross entropy with its 3 all-reduces."""
        work = Work(self.means, entry)
        work.phase(Phase.FORWARD)
        if gate is not None:
            work.gather_weights([self.head], gate)
        work.gather("head input")
        work.compute("head", ends.head(self.means.share))
        work.reduce_scalars("largest logit")
        work.compute("loss", ends.loss(self.means.share))
        work.reduce_scalars("logit of the label")
        work.reduce_scalars("sum of exponentials")
        return work.piece()

    def head_backward(self, entry: Sequence[int]) -> Piece:
        work = Work(self.means, entry)
        work.phase(Phase.BACKWARD)
        regather = work.regather("head input")
        work.compute("head", ends.head_gradient(self.means.share))
        work.input_gradient("head", ends.head_weight_gradient(self.means.share), regather)
        work.compute("final norm", ends.final_norm_gradient(self.means.share))
        work.scatter_gradients([self.head])
        return work.piece()

    def _run_layer(self, kind: LayerKind, work: Work, phase: Phase) -> None:
        work.phase(phase)
        for block in self.layers[kind].blocks:
            block.forward(work)
