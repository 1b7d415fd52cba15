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
from dataclasses import dataclass, replace

from simcore.terms import CollectiveKind, LayerKind, NodeKind
from simcore.units import plain_sum
from simcore.workload.graph import Axis, PassPhase
from simcore.workload.offload import OWN
from simcore.workload.program import ends
from simcore.workload.program.gradients import Bucket
from simcore.workload.program.layer import LayerWork
from simcore.workload.program.piece import ENTRY, Section, SectionBuilder
from simcore.workload.program.work import Means, PassPart, PassWriter

TOKEN_BYTES = 8
"""Bytes of the number of a token (int64)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMeans:
    """Means to write the passes through a kind of layer.

    Attributes:
        means: With its own share.
        blocks: What one NPU does for it.
        buckets: Its weights.
        cache_bytes: Of the cache of a micro-batch, what a pass loads and what it stores.
    """

    means: Means
    blocks: tuple[LayerWork, ...]
    buckets: tuple[Bucket, ...]
    cache_bytes: tuple[int, int] = (0, 0)

    def kept_bytes(self, *, redone: bool) -> int:
        """Bytes that it keeps of a micro-batch for the backward pass: if *redone*, its input."""
        if redone:
            return self.blocks[0].input_bytes
        return plain_sum(block.kept_bytes for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passes:
    """Writes the sections of a forward or backward pass, which have still to be placed.

    Where weights are not *gathered*, they are there.

    Attributes:
        layers: Of each kind of layer.
        head, table: Weights of output head and token table.
    """

    means: Means
    layers: Mapping[LayerKind, LayerMeans]
    head: Bucket
    table: Bucket

    def gathering(self, buckets: Sequence[Bucket]) -> Section:
        """All-gathers that wait for nothing and for which nothing waits."""
        work = PassWriter(self.means)
        work.phase(PassPhase.FORWARD)
        work.gather_weights(buckets)
        return work.section()

    def forward_layer(self, kind: LayerKind, *, gathered: bool = False) -> Section:
        return self._forward_layer(kind, gathered=gathered, redone=False)

    def input_layer(self, kind: LayerKind, *, gathered: bool = False) -> Section:
        """The forward pass of a layer that is repeated."""
        return self._forward_layer(kind, gathered=gathered, redone=True)

    def _forward_layer(self, kind: LayerKind, *, gathered: bool, redone: bool) -> Section:
        layer, offload = self.layers[kind], self.means.plan.offload
        work = PassWriter(layer.means, in_layer=True)
        work.phase(PassPhase.FORWARD)
        loaded, stored = layer.cache_bytes
        kept = layer.kept_bytes(redone=redone) if offload.activations != OWN else 0
        if gathered:
            work.gather_weights(layer.buckets)
            work.load("cache", offload.cache, loaded)
            if kept or stored:
                work.wait_for_room()
        self._run_layer(kind, work, PassPhase.FORWARD)
        work.store("activations", offload.activations, kept)
        work.store("cache", offload.cache, stored)
        return work.section()

    def backward_layer(self, kind: LayerKind, *, gathered: bool = False) -> Section:
        return self._backward_layer(kind, gathered=gathered, redone=False)

    def redone_layer(self, kind: LayerKind, *, gathered: bool = False) -> Section:
        """The forward pass once more, then the backward pass."""
        return self._backward_layer(kind, gathered=gathered, redone=True)

    def layer_inputs(self, kind: LayerKind) -> Section:
        """The backward pass but for the weight gradients."""
        return self._gradients(kind, PassPart.INPUT_GRADIENTS)

    def layer_weights(self, kind: LayerKind) -> Section:
        """The weight gradients."""
        return self._gradients(kind, PassPart.WEIGHT_GRADIENTS)

    def _gradients(self, kind: LayerKind, part: PassPart) -> Section:
        work = PassWriter(self.layers[kind].means, in_layer=True, part=part)
        work.phase(PassPhase.BACKWARD)
        for block in reversed(self.layers[kind].blocks):
            block.backward(work)
        return work.section()

    def _backward_layer(self, kind: LayerKind, *, gathered: bool, redone: bool) -> Section:
        layer = self.layers[kind]
        work = PassWriter(layer.means, in_layer=True)
        work.phase(PassPhase.BACKWARD)
        if gathered:
            work.gather_weights(layer.buckets)
            tier = self.means.plan.offload.activations
            if tier != OWN:
                work.load("activations", tier, layer.kept_bytes(redone=redone))
        if redone:
            self._run_layer(kind, work, PassPhase.RECOMPUTE)
        work.phase(PassPhase.BACKWARD)
        for block in reversed(layer.blocks):
            block.backward(work)
        work.scatter_gradients(layer.buckets)
        return work.section()

    def embedding_forward(self, *, gathered: bool = False) -> Section:
        means = replace(self.means, share=self.means.share.entry)
        work = PassWriter(means)
        work.phase(PassPhase.FORWARD)
        if gathered:
            work.gather_weights([self.table])
        work.compute("embedding", ends.embedding(means.share))
        work.reduce("embedding")
        return work.section()

    def embedding_backward(self) -> Section:
        means = replace(self.means, share=self.means.share.entry)
        work = PassWriter(means)
        work.phase(PassPhase.BACKWARD)
        work.gather("embedding gradient")
        kernels = ends.embedding_gradient(means.share, means.plan.tp)
        work.compute("embedding", kernels)
        work.scatter_gradients([self.table])
        return work.section()

    def head_forward(self, *, gathered: bool = False) -> Section:
        """Output head and the vocabulary-parallel cross entropy with its 3 all-reduces."""
        means = replace(self.means, share=self.means.share.exit)
        work = PassWriter(means)
        work.phase(PassPhase.FORWARD)
        if gathered:
            work.gather_weights([self.head])
        work.gather("head input")
        work.compute("head", ends.head(means.share))
        if not means.share.with_loss:
            self._choose_tokens(work, means)
            return work.section()
        work.reduce_scalars("largest logit")
        work.compute("loss", ends.loss(means.share))
        work.reduce_scalars("logit of the label")
        work.reduce_scalars("sum of exponentials")
        return work.section()

    def _choose_tokens(self, work: PassWriter, means: Means) -> None:
        """The largest logit of each token, of those that all NPUs of a tp group have.

        Source: vLLM, vllm/model_executor/layers/logits_processor.py, LogitsProcessor._gather_logits
        (all-gather, or gather at rank 0).
        """
        share, plan = means.share, means.plan
        if plan.logits == "largest" or plan.tp == 1:
            work.reduce_scalars("largest logit")
            return
        kind = CollectiveKind[plan.logits.upper()]
        own = share.element_bytes * share.rows * share.vocabulary
        work.collective("logits", kind, Axis.TP, own)
        work.compute("choice", ends.largest_of_all(share, plan.tp))
        if kind.rooted:
            size = TOKEN_BYTES * share.rows
            work.collective("chosen tokens", CollectiveKind.BROADCAST, Axis.TP, size)

    def head_backward(self) -> Section:
        work = PassWriter(self.means)
        work.phase(PassPhase.BACKWARD)
        regather = work.regather("head input")
        work.compute("head", ends.head_gradient(self.means.share))
        work.input_gradient("head", ends.head_weight_gradient(self.means.share), regather)
        work.compute("final norm", ends.final_norm_gradient(self.means.share))
        work.scatter_gradients([self.head])
        return work.section()

    def receive(self) -> Section:
        """The message that a pass waits for, beside what it follows."""
        builder = SectionBuilder()
        builder.frontier = (builder.add(NodeKind.RECV, -1, ()), ENTRY)
        return builder.section()

    def send(self) -> Section:
        """The message to the stage that goes on with a pass."""
        builder = SectionBuilder()
        builder.then(NodeKind.SEND, -1)
        return builder.section()

    def _run_layer(self, kind: LayerKind, work: PassWriter, phase: PassPhase) -> None:
        work.phase(phase)
        for block in self.layers[kind].blocks:
            block.forward(work)
