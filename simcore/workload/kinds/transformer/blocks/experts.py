"""Routed experts in the place of an MLP."""

from dataclasses import replace
from math import ceil
from typing import ClassVar

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, Kernel
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.blocks.mlp import (
    activation_again,
    product_gradients,
    products,
    up_weight_gradient,
)
from simcore.workload.kinds.transformer.share import ExpertShare, Share
from simcore.workload.program.kernel_costs import (
    elementwise,
    gemm,
    grouped_gemm,
    grouped_weight_gradient,
    input_gradient,
    norm,
    norm_gradient,
    routing,
    weight_gradient,
)
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.work import PassWriter

_COUNT_BYTES = 4
_ROUTER_BYTES = 4  # the router works in fp32


class RoutedExperts(ResidualBlock):
    """Norm, router, tokens to the experts that it picks, their MLPs, and the tokens back.

    Each NPU routes its own tokens. They reach the experts by an all-to-all over ep and, where an
    expert is split, an all-gather over its parts (etp), and come back the same way. With dispatch
    groups there are two: one copy per node goes to the NPU at the same place there, which passes it
    on. Shared experts are an MLP of all tokens that runs beside the first all-to-all.

    Source: D. Lepikhin et al., "GShard", ICLR 2021, section 2 (router, all-to-all); D. Dai et al.,
    "DeepSeekMoE", arXiv:2401.06066 (shared experts); D. Liu et al., "MoE Parallel Folding",
    arXiv:2504.14960, section 3 (etp and ep in place of tp, cp and dp); DeepSeek-AI, "DeepSeek-V3",
    arXiv:2412.19437, section 3.2.2 (one copy per node).
    """

    __slots__ = ()
    part: ClassVar[str] = "experts"

    @property
    def parameters(self) -> BlockParameters:
        share, experts = self.share, self._experts
        matrices = share.mlp_inputs + 1
        router = share.hidden * experts.count
        narrowed = 2 * share.hidden * experts.width if self._narrows else 0
        return BlockParameters(
            split=matrices * share.hidden * experts.shared_ffn,
            whole=share.norm_parameters + router + narrowed + share.vectors.experts,
            experts=experts.held * (matrices * experts.width * experts.ffn + share.vectors.expert),
        )

    def forward(self, work: PassWriter) -> None:
        self.after_norm(work, norm(self.share, "experts"))

    def after_norm(self, work: PassWriter, before: list[Kernel]) -> None:
        if self._experts.replicated:
            self._forward_replicated(work, before)
            return
        share = self.share
        kernels = [*before, self._router(), *self._choice("top-k")]
        if self._narrows:
            kernels.append(gemm("narrowing", *self._narrowing, share))
        work.compute("router", [*kernels, self._move("permute")])
        routed = work.fork()
        work.gather("shared experts input", self._shared_thin_bytes)
        gathered = work.fork()
        work.resume(routed)
        loads_bytes = _COUNT_BYTES * self._experts.count
        work.collective("expert loads", CollectiveKind.ALL_GATHER, Axis.EP, loads_bytes)
        self._to_experts(work, "tokens", share.dispatch_bytes)
        arrived = work.fork()
        shared: tuple[int, ...] = ()
        if self._experts.shared_ffn:
            work.resume(gathered)
            kernels = products("shared experts", share, self._experts.shared_ffn)
            work.compute("shared experts", kernels)
            arrived += work.last_compute
            work.reduce("shared experts output")
            shared = work.fork()
        work.resume(arrived)
        work.compute("experts", self._products())
        self._from_experts(work, "outputs")
        work.resume(work.fork() + shared)
        work.compute("unpermute", [self._move("unpermute")])
        if self._narrows:
            rows, narrow, wide = self._narrowing
            work.compute("widening", [gemm("widening", rows, wide, narrow, share)])

    def _forward_replicated(self, work: PassWriter, before: list[Kernel]) -> None:
        """Every NPU of a tensor parallel group has all tokens: one sum joins all outputs."""
        share = self.share
        work.compute("router", [*before, self._router(), *self._choice("top-k")])
        if self._experts.shared_ffn:
            kernels = products("shared experts", share, self._experts.shared_ffn)
            work.compute("shared experts", [one._replace(beside=True) for one in kernels])
        moves = self._move("permute"), self._move("unpermute")
        work.compute("experts", [moves[0], *self._products(), moves[1]])
        work.reduce("experts output")

    def backward(self, work: PassWriter) -> None:
        share = self.share
        self.repeat_norm(work, "unpermute")
        work.compute("unpermute", norm_gradient(share, "next"))
        if self._narrows:
            rows, narrow, wide = self._narrowing
            self._gradients(work, "unpermute", "widening", (rows, wide, narrow))
        work.compute("unpermute", [self._move("unpermute gradient")])
        routed = work.fork()
        work.gather("shared experts gradient", self._shared_thin_bytes)
        regathered = work.regather("shared experts input", self._shared_thin_bytes)
        gathered = work.fork()
        work.resume(routed)
        self._to_experts(work, "output gradients", share.element_bytes)
        arrived = work.fork()
        shared: tuple[int, ...] = ()
        if self._experts.shared_ffn:
            work.resume(gathered)
            ffn = self._experts.shared_ffn
            if self.repeats("activations"):
                work.compute("shared experts", [activation_again("shared experts", share, ffn)])
            product_gradients("shared experts", share, ffn, work)
            weights = [up_weight_gradient("shared experts", share, ffn)]
            work.input_gradient("shared experts", weights, regathered)
            shared = work.fork()
            arrived += work.last_compute
        work.resume(arrived)
        self._product_gradients(work)
        computed = work.fork()
        self._from_experts(work, "token gradients")
        returned = work.fork()
        work.resume(computed)
        work.compute("experts weight gradient", [], [self._up_weight_gradient()])
        work.resume(work.fork() + returned + shared)
        work.compute("router", [self._move("permute gradient")])
        if self._narrows:
            self._gradients(work, "router", "narrowing", self._narrowing)
        work.compute("router", self._choice("top-k gradient"))
        sizes = share.thin_rows, self._experts.count, share.hidden
        self._gradients(work, "router", "router", sizes)

    @property
    def entry_bytes(self) -> int:
        """Bytes as every block keeps them, but in 16 bits, and a copy for shared experts."""
        share, elements = self.share, self.share.thin_rows * self.share.hidden
        outputs = 0 if self.repeats("norms") else elements
        copied = elements if share.copies_inputs and self._experts.shared_ffn else 0
        kept = share.kept(elements + outputs + copied, copied)
        return kept + share.mask_bytes * elements

    @property
    def kept_bytes(self) -> int:
        if self.is_repeated:
            return self.repeated_bytes
        share, experts = self.share, self._experts
        arrived = experts.rows * experts.width
        kept = share.kept(arrived, arrived) + self.inner_bytes(experts.rows * experts.ffn)
        kept += self.inner_bytes(share.rows * experts.shared_ffn)
        kept += share.element_bytes * share.thin_rows * experts.width if self._narrows else 0
        choice = _ROUTER_BYTES * share.thin_rows * experts.count
        return self.entry_bytes + kept + choice

    @property
    def _experts(self) -> ExpertShare:
        if self.share.experts is None:
            raise AssertionError("a model with experts has a share of them")
        return self.share.experts

    @property
    def _routed_share(self) -> Share:
        """The share as the products of routed experts see it."""
        share, experts = self.share, self._experts
        stored = share.product_format, share.weight_bytes
        if stored == (experts.product_format, experts.weight_bytes):
            return share
        return replace(
            share, product_format=experts.product_format, weight_bytes=experts.weight_bytes
        )

    @property
    def _narrows(self) -> bool:
        return self._experts.width != self.share.hidden

    @property
    def _narrowing(self) -> tuple[int, int, int]:
        """Rows, narrow width and wide width of the tokens on their way to the experts."""
        return self.share.thin_rows, self._experts.width, self.share.hidden

    @property
    def _axis(self) -> Axis:
        """The NPUs among which tokens go to experts: the whole group, or one node of it."""
        return Axis.EP if self.plan.dispatch_group is None else Axis.EP_NODE

    @property
    def _shared_thin_bytes(self) -> int:
        return self.share.thin_bytes if self._experts.shared_ffn else 0

    def _to_experts(self, work: PassWriter, what: str, element_bytes: float) -> None:
        rail_bytes, size_bytes = self._travelling(element_bytes)
        name = f"{what} to nodes of experts"
        work.collective(name, CollectiveKind.ALL_TO_ALL, Axis.EP_RAIL, rail_bytes)
        work.collective(f"{what} to experts", CollectiveKind.ALL_TO_ALL, self._axis, size_bytes)
        name = f"{what} to parts of experts"
        work.collective(name, CollectiveKind.ALL_GATHER, Axis.ETP, size_bytes)

    def _from_experts(self, work: PassWriter, what: str) -> None:
        rail_bytes, size_bytes = self._travelling(self.share.element_bytes)
        name, summed_bytes = f"{what} from parts of experts", size_bytes * self.plan.expert_tp
        work.collective(name, CollectiveKind.REDUCE_SCATTER, Axis.ETP, summed_bytes)
        name = f"{what} from experts"
        work.collective(name, CollectiveKind.ALL_TO_ALL, self._axis, size_bytes)
        name = f"{what} from nodes of experts"
        work.collective(name, CollectiveKind.ALL_TO_ALL, Axis.EP_RAIL, rail_bytes)

    def _travelling(self, element_bytes: float) -> tuple[int, int]:
        """Bytes that go to other nodes, and those that go to NPUs."""
        experts = self._experts
        rows = experts.rail_rows, experts.sent_rows
        rail, sent = [ceil(element_bytes * count * experts.width) for count in rows]
        return rail, sent

    def _router(self) -> Kernel:
        share, experts = self.share, self._experts
        rows = share.rows if experts.replicated else share.thin_rows
        formed = share.with_format(experts.router_format)
        return gemm("router", rows, experts.count, share.hidden, formed)

    def _choice(self, name: str) -> list[Kernel]:
        """Softmax over the experts and the choice of the best."""
        elements = self.share.thin_rows * self._experts.count
        return [routing(name, 5 * elements, 3 * _ROUTER_BYTES * elements)]

    def _move(self, name: str) -> Kernel:
        """Copies of the tokens in the order of the experts, or back to their sum."""
        share, picked, width = self.share, self._experts.picked_rows, self._experts.width
        moved = share.element_bytes * width * (share.thin_rows + picked)
        return routing(name, width * picked, moved)

    def _sizes(self) -> tuple[int, int, int, int]:
        """Rows, outer and inner width, and groups of the experts' products."""
        experts = self._experts
        groups = min(experts.held, experts.rows)  # experts that get no row are not read
        return experts.rows, experts.width, experts.ffn, groups

    def _products(self) -> list[Kernel]:
        share, (rows, wide, ffn, met) = self._routed_share, self._sizes()
        inner, held = share.mlp_inputs * ffn, self._experts.held
        return [
            grouped_gemm("experts up", (rows, inner, wide), met, share, held),
            self._activation("experts activation", 1 + share.mlp_inputs),
            grouped_gemm("experts down", (rows, wide, ffn), met, share, held),
        ]

    def _gradients(
        self, work: PassWriter, node: str, name: str, sizes: tuple[int, int, int]
    ) -> None:
        """Both gradients of a product, in the compute node *node*."""
        inputs = input_gradient(name, *sizes, self.share)
        work.compute(node, [inputs], [weight_gradient(name, *sizes, self.share)])

    def _product_gradients(self, work: PassWriter) -> None:
        """Backward pass but for the weight gradient of the first product."""
        share, (rows, wide, ffn, held) = self._routed_share, self._sizes()
        inner = share.mlp_inputs * ffn
        down = grouped_gemm("experts down input gradient", (rows, ffn, wide), held, share)
        weights = grouped_weight_gradient("experts down", (rows, wide, ffn), held, share)
        if self.repeats("activations"):
            again = self._activation("experts activation again", 1 + share.mlp_inputs)
            work.compute("experts", [again])
        work.compute("experts", [down], [weights])
        activation = self._activation("experts activation gradient", 1 + 2 * share.mlp_inputs)
        up = grouped_gemm("experts up input gradient", (rows, wide, inner), held, share)
        work.compute("experts", [activation, up])

    def _up_weight_gradient(self) -> Kernel:
        share, (rows, wide, ffn, held) = self._routed_share, self._sizes()
        inner = share.mlp_inputs * ffn
        return grouped_weight_gradient("experts up", (rows, inner, wide), held, share)

    def _activation(self, name: str, moves: int) -> Kernel:
        elements = self._experts.rows * self._experts.ffn
        return elementwise(name, 8 * elements, moves * self.share.element_bytes * elements)
