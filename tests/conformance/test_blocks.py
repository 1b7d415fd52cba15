"""Every residual block: products, parameters and traffic are those of the published formulas.

The formulas are written out here, matrix by matrix; what a block says is nowhere used to make them.
"""

from dataclasses import dataclass
from math import isclose
from typing import Any

import pytest
from block_formulas import (
    ACTIVE,
    BATCH,
    CAUSAL,
    ELEMENT,
    EXPERTS,
    GROUPS,
    HEADS,
    HIDDEN,
    INDEX_HEADS,
    INDEX_WIDTH,
    INNER,
    KEY_RANK,
    MIXED,
    PLAIN,
    QUERY_RANK,
    READ,
    ROTARY,
    RULE_HEADS,
    RULE_KEY,
    RULE_KEYS,
    RULE_VALUE,
    STATE_HEADS,
    THEORIES,
    TOKENS,
    VALUE,
    WIDTH,
    Split,
)
from every_case import with_every

from simcore.terms import CollectiveKind
from simcore.workload import Axis, Model, ParallelPlan, PassPhase, TrainingWorkload
from simcore.workload.graph import CollectiveOp, Operator
from simcore.workload.kinds.transformer.blocks import BLOCKS
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.program.work import Catalog, Means, PassWriter, under

PLANS: list[dict[str, Any]] = [
    {},
    {"tp": 2},
    {"tp": 4},
    {"tp": 4, "sequence_parallel": True},
    {"cp": 2},
    {"cp": 2, "cp_kind": "ring"},
    {"cp": 4, "cp_kind": "ulysses"},
    {"tp": 2, "cp": 2, "sequence_parallel": True},
    {"dp": 4, "ep": 4},
    {"tp": 2, "dp": 2, "sequence_parallel": True, "ep": 2, "etp": 2},
    {"tp": 2, "dp": 4, "sequence_parallel": True, "ep": 8, "etp": 1},
]


def workload_of(name: str) -> TrainingWorkload:
    model = Model.model_validate(THEORIES[name].model)
    read = READ if model.encoder_layers else 0
    return TrainingWorkload(model=model, sequence=TOKENS, encoder_sequence=read, global_batch=16)


def plan_of(choice: dict[str, Any], **more: Any) -> ParallelPlan:
    return ParallelPlan(micro_batch=BATCH, **choice, **more)


def cases() -> list[tuple[str, dict[str, Any]]]:
    """Blocks and plans that their models can follow; experts alone are spread over dp."""
    found = []
    for name in THEORIES:
        for choice in PLANS:
            spreads = "ep" in choice
            fine = all(rule[0] for rule in workload_of(name).rules(plan_of(choice)))
            if fine and (not spreads or name == "experts"):
                found.append((name, choice))
    return found


each_case = with_every("name, choice", cases())


def block_of(name: str, plan: ParallelPlan) -> ResidualBlock:
    share = workload_of(name).share(plan)
    block = share.named_work(name, plan)
    assert isinstance(block, ResidualBlock)
    return block


@dataclass
class Written:
    """A pass of a block, as one NPU does it."""

    operators: list[Operator]
    collectives: list[CollectiveOp]

    def flop(self, kind: str) -> float:
        return sum(
            k.flop for operator in self.operators for k in operator.kernels if k.kind == kind
        )

    def bytes(self, kind: str) -> float:
        kernels = [kernel for operator in self.operators for kernel in operator.kernels]
        return sum(kernel.bytes for kernel in kernels if kernel.kind == kind)

    def sent_bytes(self, axis: Axis, members: int) -> float:
        """What an NPU sends at least, to the formulas of a ring and of a direct exchange."""
        parts = {
            CollectiveKind.ALL_REDUCE: 2 * (members - 1) / members,
            CollectiveKind.REDUCE_SCATTER: (members - 1) / members,
            CollectiveKind.ALL_TO_ALL: (members - 1) / members,
            CollectiveKind.ALL_GATHER: members - 1,
        }
        return sum(parts[c.kind] * c.size_bytes for c in self.collectives if c.axis is axis)


def written(name: str, plan: ParallelPlan, phase: PassPhase) -> Written:
    block, catalog = block_of(name, plan), Catalog()
    work = PassWriter(Means(plan=plan, share=block.share, catalog=catalog))
    work.phase(phase)
    block.forward(work) if phase is PassPhase.FORWARD else block.backward(work)
    entries = under(plan, catalog.named(work.section().item))
    return Written(
        operators=[entry for entry in entries if isinstance(entry, Operator)],
        collectives=[entry for entry in entries if isinstance(entry, CollectiveOp)],
    )


def test_every_block_has_its_formulas_here() -> None:
    assert sorted(THEORIES) == sorted(BLOCKS)
    assert len(cases()) >= 6 * len(THEORIES)


@each_case
def test_forward_products_have_the_flop_and_bytes_of_their_matrices(
    name: str, choice: dict[str, Any]
) -> None:
    plan = plan_of(choice)
    found = written(name, plan, PassPhase.FORWARD)
    products = THEORIES[name].products(Split(plan))
    assert found.flop("gemm") == sum(2 * p.m * p.n * p.k for p in products)
    moved = sum(p.m * p.k + p.m * p.n + p.copies * p.k * p.n for p in products)
    assert found.bytes("gemm") == ELEMENT * moved


@each_case
def test_the_npus_of_a_group_together_do_the_work_of_one(name: str, choice: dict[str, Any]) -> None:
    plan, alone = plan_of(choice), plan_of({})
    whole, part = (written(name, each, PassPhase.FORWARD) for each in (alone, plan))
    again = 0 if plan.sequence_parallel else plan.tp - 1  # what every NPU of tp does by itself
    thin = sum(2 * p.m * p.n * p.k for p in THEORIES[name].products(Split(alone)) if p.thin)
    copied = sum(2 * p.m * p.n * p.k for p in THEORIES[name].products(Split(alone)) if p.whole)
    npus, theory = plan.tp * plan.cp, THEORIES[name]
    assert npus * part.flop("gemm") == whole.flop("gemm") + again * thin + (plan.tp - 1) * copied
    assert npus * part.flop("attention") == theory.core + plan.tp * theory.index
    assert npus * part.flop("scan") == whole.flop("scan")


@each_case
def test_parameters_of_all_parts_are_those_of_the_block(name: str, choice: dict[str, Any]) -> None:
    plan = plan_of(choice)
    held = block_of(name, plan).parameters
    together = held.split * plan.tp + held.whole + held.experts * plan.ep * plan.expert_tp
    assert together == THEORIES[name].parameters


@each_case
def test_backward_products_are_two_for_each_forward_one(name: str, choice: dict[str, Any]) -> None:
    plan, theory = plan_of(choice), THEORIES[name]
    forward, backward = (
        written(name, plan, way) for way in (PassPhase.FORWARD, PassPhase.BACKWARD)
    )
    assert backward.flop("gemm") == theory.backward * forward.flop("gemm")
    # FlashAttention: two products forward; backward their four gradients, and the scores again
    latent = name in ("latent", "indexed")
    scores = (PLAIN + ROTARY) / (PLAIN + ROTARY + VALUE) if latent else 1 / 2
    index = theory.index / plan.cp  # its scores again, and the gradients of its queries and keys
    core = forward.flop("attention") - index
    assert isclose(backward.flop("attention"), (2 + scores) * core + 3 * index)
    assert backward.flop("scan") >= 2 * forward.flop("scan")


@pytest.mark.parametrize("name", [name for name, theory in THEORIES.items() if theory.core])
def test_a_core_that_is_not_fused_works_on_hidden_scores_too(name: str) -> None:
    plan = plan_of({}, flash_attention=False)
    forward, backward = (
        written(name, plan, way) for way in (PassPhase.FORWARD, PassPhase.BACKWARD)
    )
    theory, index = THEORIES[name], THEORIES[name].index / CAUSAL  # hidden scores, too
    assert forward.flop("attention") == theory.core / theory.seen + index
    assert backward.flop("attention") == 2 * theory.core / theory.seen + 3 * index


def tensor_bytes(name: str, split: Split) -> tuple[float, float]:
    """Bytes that an NPU sends over tp, forward and backward.

    An all-reduce sends what a reduce-scatter and an all-gather send. With sequence parallelism the
    saved input of the first product is gathered once more (Korthikanti et al., section 4.2.2).
    """
    thin = split.plan.sequence_parallel
    stream, read = split.ring(split.rows), split.ring(split.read)
    if name in ("patches", "classes"):
        logits = 3 * 4 * BATCH * 2 * (split.plan.tp - 1) / split.plan.tp  # fp32, all-reduced
        mean = 2 * split.ring(BATCH)
        return (0.0, 0.0) if name == "patches" else (logits + mean * thin, mean)
    if name == "decoder_start":
        return (stream, stream) if thin else (2 * stream, 0.0)
    if name == "cross":
        return 2 * stream + read * thin, (3 if thin else 2) * stream + 2 * read
    if name in ("latent", "indexed"):
        index = INDEX_WIDTH + INDEX_HEADS if name == "indexed" else 0
        narrow = split.ring(split.rows, QUERY_RANK + KEY_RANK + ROTARY + index)
        return (narrow + stream, stream + 2 * narrow) if thin else (2 * stream, 2 * narrow)
    whole = read if name.startswith("encoder") else stream
    return 2 * whole, (3 if thin else 2) * whole


@each_case
def test_tensor_parallel_traffic_is_that_of_megatron(name: str, choice: dict[str, Any]) -> None:
    plan = plan_of(choice)
    if plan.tp == 1:
        return
    expected = tensor_bytes(name, Split(plan))
    for way, sent_bytes in zip((PassPhase.FORWARD, PassPhase.BACKWARD), expected, strict=True):
        found = written(name, plan, way).sent_bytes(Axis.TP, plan.tp)
        assert isclose(found, sent_bytes), way


@each_case
def test_context_parallel_traffic_is_that_of_its_papers(name: str, choice: dict[str, Any]) -> None:
    plan = plan_of(choice)
    forward, backward = (
        written(name, plan, way).sent_bytes(Axis.CP, plan.cp)
        for way in (PassPhase.FORWARD, PassPhase.BACKWARD)
    )
    if plan.cp == 1 or name in ("mlp", "experts"):
        assert forward == backward == 0  # each token by itself
        return
    split, tp, others = Split(plan), plan.tp, plan.cp - 1
    heads = {"latent": HEADS * (PLAIN + ROTARY + VALUE)}.get(name, 2 * GROUPS * WIDTH)
    keys = ELEMENT * split.rows * heads // tp  # keys and values of an NPU's own tokens
    if name in ("mamba", "linear"):  # an all-to-all each way (section 8.2 of the paper of Mamba-2)
        inputs, inner = 2 * INNER + MIXED + STATE_HEADS, INNER
        if name == "linear":
            inner = RULE_HEADS * RULE_VALUE
            inputs = 2 * RULE_KEYS * RULE_KEY + 2 * inner + 2 * RULE_HEADS
        exchanged = ELEMENT * split.rows * (inputs + inner) // tp * others / plan.cp
        assert isclose(forward, exchanged)
        assert isclose(backward, exchanged)
    elif plan.cp_kind == "ulysses":
        queries = HEADS * ((PLAIN + ROTARY + VALUE) if name == "latent" else 2 * WIDTH)
        exchanged = (keys + ELEMENT * split.rows * queries // tp) * others / plan.cp
        assert isclose(forward, exchanged)
        assert isclose(backward, exchanged)
    elif plan.cp_kind == "ring":  # once round; backward the sums of their gradients too
        assert (forward, backward) == (others * keys, (2 * others + 1) * keys)
    else:  # gathered; backward once more, and the gradients scattered
        assert (forward, backward) == (others * keys, 2 * others * keys)


@each_case
def test_tokens_travel_to_their_experts_and_back(name: str, choice: dict[str, Any]) -> None:
    plan = plan_of(choice)
    split, spread = Split(plan), name == "experts" and plan.ep > 1
    copies = ELEMENT * split.thin(split.rows) * ACTIVE * HIDDEN * (plan.ep - 1) / plan.ep
    loads = 4 * EXPERTS * (plan.ep - 1)  # a count for each expert
    for way, counts in ((PassPhase.FORWARD, loads), (PassPhase.BACKWARD, 0)):
        found = written(name, plan, way).sent_bytes(Axis.EP, plan.ep)
        assert isclose(found, 2 * copies + counts) if spread else found == 0
