"""Runs behind a row: the steps of an engine under load, on one instance of it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Literal

from simcore.config import Run
from simcore.machine import Npu, Platform
from simcore.machine.system import System
from simcore.terms import FORMATS as NUMBER_FORMATS
from simcore.terms import NARROW_FORMATS, Precision
from simcore.validation.machine import Machines, accelerator_named
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.checkpoints import checkpoint_of
from simcore.validation.served.links import links_of
from simcore.validation.served.models import served_model
from simcore.validation.served.stack import ServingStack, stack_of
from simcore.validation.served.systems import served_as
from simcore.workload import Model, ParallelPlan
from simcore.workload.kinds.inference import Speculation
from simcore.workload.kinds.inference.formats import ServingFormats
from simcore.workload.kinds.inference.share import PromptChunk
from simcore.workload.kinds.inference.workload import InferenceWorkload

Step = Literal["prefill", "decode"]

FORMATS = {
    "": "bf16",
    "bf16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "w4a16_mxfp4": "w4a16_mxfp4",
    "w4a8_mxfp4_mxfp8": "w4a8_mxfp4",
    "int4_wo": "w4a16_int4",
}

MOST_LATENT = 8
"""NPUs that split latent attention, whose cache each of them holds whole, unless the weights need
more."""

MEAN_LENGTH = 0.9
"""Part of the nominal length: load tests draw lengths evenly from 80 to 100 % (InferenceX)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """NPUs of one instance of an engine.

    Attributes:
        tp: NPUs that split attention.
        replicas: Copies of attention, each with requests of its own.
        etp, ep: NPUs that split an expert, and those among which experts are spread.
    """

    tp: int
    replicas: int
    etp: int
    ep: int

    @classmethod
    def of(
        cls, row: MeasuredRow, model: Model, prefix: str = "", most_latent: int = MOST_LATENT
    ) -> "Shape":
        """Degrees in columns of the row that begin with *prefix* (pools: ``decode_``).

        An engine spreads experts over NPUs that it has already. Where both degrees of experts
        equal n and attention has n^2 NPUs, or attention is split by n, copied n times, and experts
        have n^2 NPUs, the table has multiplied them once too often: n. With experts, a degree by
        which heads do not divide, or beyond *most_latent* where every NPU would keep the latents of
        all requests, is one of copies of attention.

        Sources: SemiAnalysis, InferenceX (Apache-2.0), configurations with ``dp-attn`` name tp = n
        for n NPUs; its launch scripts for vLLM then start tp 1 and data parallelism n.
        """
        ending = "_size" if prefix else ""
        tp, replicas, etp, ep = (
            row.count(f"{prefix}{name}{ending}") if row.number(f"{prefix}{name}{ending}") else None
            for name in ("tp", "attention_dp", "moe_tp", "moe_ep")
        )
        tp, replicas = tp or 1, replicas or 1
        if etp and etp == ep and etp > 1 and tp * replicas == etp * ep:
            tp, replicas = (1, ep) if replicas > 1 else (ep, 1)
            etp = 1
        elif model.experts and tp == replicas > 1 and (etp or 1) * (ep or 1) == tp * replicas:
            tp, etp, ep = 1, 1, replicas
        if model.experts and (model.heads % tp or (model.latent and tp > most_latent)):
            tp, replicas = 1, tp * replicas
        if model.experts and (etp or 1) * (ep or 1) > tp * replicas:  # experts need NPUs, too
            tp = (etp or 1) * (ep or 1) // replicas
        return cls._with_experts(tp, replicas, etp or 0, ep or 0, model)

    @classmethod
    def _with_experts(cls, tp: int, replicas: int, etp: int, ep: int, model: Model) -> "Shape":
        """Experts on all NPUs: spread beside copies of attention, split where they are told to."""
        npus = tp * replicas
        if ep * etp != npus or replicas > 1:
            ep, etp = (npus, 1) if ep > 1 or replicas > 1 else (1, npus)
        if model.experts and model.experts.count % ep and replicas == 1:
            ep, etp = 1, npus
        return cls(tp=tp, replicas=replicas, etp=etp, ep=ep)

    def copied(self, model: Model, npus: int | None = None) -> "Shape":
        """Shape of *npus* of these NPUs, or all, each with all of attention and own requests."""
        return self._with_experts(1, npus or self.npus, 0, 0, model)

    @classmethod
    def split(cls, npus: int, model: Model) -> "Shape":
        """Shape of *npus* that split attention and experts."""
        return cls._with_experts(npus, 1, npus, 0, model)

    @property
    def npus(self) -> int:
        """NPUs of the instance."""
        return self.tp * self.replicas


PlatformOf = Callable[[MeasuredRow, int, float | None], Platform]
"""Machine of so many NPUs behind a row, with links for all-reduces of so many bytes, or None: for
tokens that are put where their experts are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Work of one instance in a step.

    Attributes:
        step: Whole prompts are read, or each sequence gets a token.
        sequences: Prompts, or answers under way.
        keys: Tokens of a prompt, or those that a new token sees.
        chunks: Chunks of prompts that each copy of attention reads beside answers.
        chunk_tokens: Tokens of a chunk.
        chunk_parts: Chunks of a prompt.
    """

    step: Step
    sequences: int
    keys: int
    chunks: int = 0
    chunk_tokens: int = 0
    chunk_parts: int = 1

    def chunk(self, replicas: int) -> PromptChunk | None:
        """Chunks that all copies of attention read."""
        if not self.chunks:
            return None
        prompt = self.chunk_tokens * self.chunk_parts
        prompts = self.chunks * replicas
        return PromptChunk.build(prompt=prompt, tokens=self.chunk_tokens, prompts=prompts)


class ServedRuns:
    """Builds the runs of rows; files are read once.

    Args:
        platform_of: Builds the machine of a row; by default that of its ``system`` with the kernels
            of its ``backend``.
    """

    def __init__(self, platform_of: PlatformOf | None = None) -> None:
        self._machines = Machines()
        self._platform_of = platform_of or self._platform

    def run(self, row: MeasuredRow, shape: Shape, load: Load) -> Run:
        """One step of the row's engine on an instance of *shape* with so much to do.

        Tokens that leave a node travel once for each expert, as low-latency kernels over RDMA send
        them (DeepEP, github.com/deepseek-ai/DeepEP, MIT); within one, once for each NPU.

        Raises:
            UnsupportedRow: The row asks for something that is not modelled.
            ConfigError: It breaks a rule of runs.
        """
        model = _with_spares(served_model(row.text("model")), shape.ep)
        each = ceil(load.sequences / shape.replicas)
        replicas = max(shape.replicas, 3 - shape.npus)  # a network joins two at least
        etp, ep = (shape.etp, shape.ep) if model.experts else (None, 1)
        rows = each * (load.keys if load.step == "prefill" else 1)
        rows += load.chunks * load.chunk_tokens
        puts = etp == 1 and ep > 1 and shape.replicas > 1 and stack_of(row).puts_tokens
        message_bytes = None if puts else 2.0 * rows * model.hidden
        platform = self._platform_of(row, shape.tp * replicas, message_bytes)
        formats = _formats(row, model, platform.npu, stack_of(row).narrow_cache)
        if model.experts and shape.replicas > 1 and shape.tp > 1:
            raise UnsupportedRow("experts with attention both split and copied are not modelled")
        return Run.build(
            workload=InferenceWorkload.build(
                model=model,
                step=load.step,
                sequence=load.keys,
                global_batch=each * replicas,
                chunk=load.chunk(replicas),
                speculation=_guesses(row, model) if load.step == "decode" else None,
                formats=formats,
                dispatch_format=_sent(formats) if puts else None,
            ),
            platform=platform,
            plan=ParallelPlan.build(
                tp=shape.tp,
                dp=replicas,
                etp=etp,
                ep=ep,
                dispatch_group=platform.dimensions[0].npus
                if puts and len(platform.dimensions) == 1
                else None,
                micro_batch=each,
                schedule="forward",
            ),
            system=System.build(all_reduce="direct", all_to_all="direct", chunks=1),
            compute="measured",
        )

    def _platform(self, row: MeasuredRow, npus: int, message_bytes: float | None) -> Platform:
        """The NPUs, with the transfers that suit what their all-reduces send."""
        accelerator = accelerator_named(served_as(row).load_tested)
        return Platform.build(
            "platform",
            name=f"{npus} x {accelerator.npu}",
            npu=_of_engine(self._machines.npu(accelerator.npu), stack_of(row)),
            dimensions=links_of(self._machines, accelerator, npus, message_bytes),
        )


def _of_engine(npu: Npu, stack: ServingStack) -> Npu:
    """The accelerator with the kernels of *stack*."""
    if npu.kernels is None or not stack.kernels:
        return npu
    shared = stack.any_experts and Precision.FP4 in npu.peak_flop_per_s
    update = {"engine": stack.kernels, "any_engine": ("experts",) if shared else ()}
    chosen = npu.kernels.model_copy(update=update)
    return npu.model_copy(update={"kernels": chosen})


def _with_spares(model: Model, ep: int) -> Model:
    """*model* with second copies of some experts, so that each of *ep* NPUs holds as many.

    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 3.4 (redundant
    experts).
    """
    experts = model.experts
    if experts is None or experts.count % ep == 0:
        return model
    filled = experts.model_copy(update={"count": ep * ceil(experts.count / ep)})
    return model.model_copy(update={"experts": filled})


def _guesses(row: MeasuredRow, model: Model) -> Speculation | None:
    """Guesses of steps of answering, by the module of *model*; None: there are none."""
    told = stack_of(row).speculation(row)
    return told and told.model_copy(update={"model": _module_of(model)})


def _module_of(model: Model) -> Model:
    """The module of *model* that guesses: one more of its last layers, and its own head.

    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 2.2.
    """
    experts = model.experts and model.experts.model_copy(update={"first_layer": 0, "every": 1})
    return model.model_copy(update={"layers": 1, "experts": experts})


def _sent(formats: ServingFormats) -> Precision | None:
    """Format of tokens on their way: that in which experts multiply; None: 16 bits."""
    product = NUMBER_FORMATS[formats.experts or formats.weights].product
    return product if product in NARROW_FORMATS else None


def _formats(row: MeasuredRow, model: Model, npu: Npu, narrow_cache: bool) -> ServingFormats:
    """Formats that the row tells, as the checkpoint has them and the accelerator computes."""
    names = {}
    for key, column in (("weights", "gemm_format"), ("experts", "moe_format")):
        told = row.text(column)
        if told not in FORMATS:
            raise UnsupportedRow(f"number format {told} is not modelled")
        names[key] = FORMATS[told]
    stored = checkpoint_of(row.text("model"))
    names["weights"] = stored.weights or names["weights"]
    if stored.experts:  # engines multiply these in 8 bits where 4 are fast
        narrow = Precision.FP4 in npu.peak_flop_per_s
        names["experts"] = f"w4a8_{stored.experts}" if narrow else f"w4a16_{stored.experts}"
    blocks = {"weights": stored.scales == "block", "experts": stored.scales != "tensor"}
    for key, has_blocks in blocks.items():
        if model.experts and has_blocks and names[key] == "fp8":
            names[key] = "fp8_block"
    if model.latent and names["weights"] == "nvfp4":
        names["latents"] = "bf16"
    cache = "fp8" if narrow_cache or stored.cache else "bf16"
    return ServingFormats.build(**names, cache=cache)
