"""The forward and backward pass through one layer, the token table and the output head.

Work between two communications is one compute node. Element-wise work between a reduce-scatter
and the all-gather that follows it is counted in the compute node after the all-gather: nothing
else can run in between, so the sum of times is the same with fewer nodes.

The weight gradient of the first product of attention and MLP is a node of its own, which runs
beside the communication of the input gradient; all other weight gradients are in the chain.

With ZeRO 2 and 3 each layer's gradients are scattered after each of its backward passes. With
ZeRO 3 its weights are gathered before each pass, while the layer before is at work: at most two
layers' weights are on their way or in use. The table and the head are gathered once per forward
pass and the head kept for the backward pass.

Source: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
MLSys 2023, sections 4.2.1-4.2.2 (collectives of tensor and sequence parallelism); M. Shoeybi et
al., arXiv:1909.08053, section 3 (tensor parallelism, vocabulary-parallel loss); A. Dubey et al.,
"The Llama 3 Herd of Models", section 3.3.2 (context parallelism by all-gather of keys and values);
Y. Zhao et al., "PyTorch FSDP", VLDB 2023, sections 3.2-3.3 (units and prefetch of ZeRO 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.workload import parts
from simcore.workload.graph import Phase
from simcore.workload.piece import Piece
from simcore.workload.stage_parameters import HEAD, LAYER, TABLE
from simcore.workload.work import Means, Work


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passes:
    """Writes the pieces of a forward or backward pass.

    *entry* is what a piece waits for, *gate* what the gathering of its weights waits for.
    """

    means: Means

    @property
    def gathers_weights(self) -> bool:
        return self.means.plan.zero_stage >= 3 and self.means.plan.gradient_replicas > 1

    def forward_layer(self, entry: Sequence[int], gate: Sequence[int]) -> Piece:
        work = Work(self.means, entry, layer=0)
        work.gather_weights(LAYER, gate)
        self._run_layer(work, Phase.FORWARD)
        return work.piece()

    def backward_layer(self, entry: Sequence[int], gate: Sequence[int]) -> Piece:
        share = self.means.share
        work = Work(self.means, entry, layer=0)
        work.phase(Phase.BACKWARD)
        work.gather_weights(LAYER, gate)
        if self.means.plan.recompute == "full":
            self._run_layer(work, Phase.RECOMPUTE)
        work.phase(Phase.BACKWARD)
        work.gather("mlp gradient")
        regather = work.regather("mlp input")
        work.compute("mlp", parts.mlp_gradient(share))
        work.input_gradient("mlp", parts.mlp_weight_gradient(share), regather)
        work.gather("attention gradient")
        regather = work.regather("attention input")
        self._attention_gradient(work)
        work.input_gradient("attention", parts.attention_weight_gradient(share), regather)
        work.scatter_gradients(LAYER)
        return work.piece()

    def embedding_forward(self, entry: Sequence[int], gate: Sequence[int]) -> Piece:
        work = Work(self.means, entry)
        work.phase(Phase.FORWARD)
        work.gather_weights(TABLE, gate)
        work.compute("embedding", parts.embedding(self.means.share))
        work.reduce("embedding")
        return work.piece()

    def embedding_backward(self, entry: Sequence[int]) -> Piece:
        work = Work(self.means, entry)
        work.phase(Phase.BACKWARD)
        work.gather("embedding gradient")
        work.compute("embedding", parts.embedding_gradient(self.means.share))
        work.scatter_gradients(TABLE)
        return work.piece()

    def head_forward(self, entry: Sequence[int], gate: Sequence[int]) -> Piece:
        """Output head and the vocabulary-parallel cross entropy with its 3 all-reduces."""
        work = Work(self.means, entry)
        work.phase(Phase.FORWARD)
        work.gather_weights(HEAD, gate)
        work.gather("head input")
        work.compute("head", parts.head(self.means.share))
        work.reduce_scalars("largest logit")
        work.compute("loss", parts.loss(self.means.share))
        work.reduce_scalars("logit of the label")
        work.reduce_scalars("sum of exponentials")
        return work.piece()

    def head_backward(self, entry: Sequence[int]) -> Piece:
        work = Work(self.means, entry)
        work.phase(Phase.BACKWARD)
        regather = work.regather("head input")
        work.compute("head", parts.head_gradient(self.means.share))
        work.input_gradient("head", parts.head_weight_gradient(self.means.share), regather)
        work.compute("final norm", parts.final_norm_gradient(self.means.share))
        work.scatter_gradients(HEAD)
        return work.piece()

    def _run_layer(self, work: Work, phase: Phase) -> None:
        share = self.means.share
        work.phase(phase)
        work.gather("attention input")
        work.compute("attention input", parts.attention_input(share))
        work.gather_keys("keys and values")
        work.compute("attention", parts.attention_core(share) + parts.attention_output(share))
        work.reduce("attention output")
        work.gather("mlp input")
        work.compute("mlp", parts.mlp(share))
        work.reduce("mlp output")

    def _attention_gradient(self, work: Work) -> None:
        share = self.means.share
        work.compute("attention output", parts.attention_output_gradient(share))
        work.gather_keys("keys and values")
        again = []
        if self.means.plan.recompute == "selective" and not share.flash:
            again = parts.attention_core(share)
        work.compute("attention", again + parts.attention_core_gradient(share))
        work.scatter_keys("key and value gradients")
        work.compute("attention input", parts.attention_input_gradient(share))
