"""Residual blocks of transformers by their published formulas, matrix by matrix.

What the product says of a block is nowhere used: tests hold it against this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from simcore.workload import ParallelPlan

HIDDEN, HEADS, GROUPS, WIDTH, FFN = 64, 8, 4, 8, 256
BATCH, TOKENS, READ, WINDOW = 2, 32, 48, 8
QUERY_RANK, KEY_RANK, PLAIN, ROTARY, VALUE = 24, 16, 12, 4, 10
EXPERTS, ACTIVE, EXPERT_FFN, SHARED_FFN = 8, 2, 96, 128
STATE_HEADS, STATE_WIDTH, STATE_GROUPS, STATE, CHUNK, TAPS = 16, 8, 4, 16, 8, 4
INDEX_HEADS, INDEX_WIDTH, TOP = 4, 6, 8
RULE_KEYS, RULE_HEADS, RULE_KEY, RULE_VALUE = 4, 8, 6, 10
PIXELS, CLASSES = 4 * 4 * 3, 16
ELEMENT = 2  # bytes of a bf16 number

DENSE: dict[str, Any] = {
    "name": "m", "kind": "llama", "layers": 4, "hidden": HIDDEN, "heads": HEADS,
    "kv_heads": GROUPS, "ffn": FFN,
}  # fmt: skip
BOTH = DENSE | {"encoder_layers": 2, "kv_heads": HEADS, "vocabulary": 128}
IMAGES = DENSE | {
    "kind": "gpt", "causal": False, "kv_heads": HEADS, "vision": {"patch": 4, "classes": CLASSES},
}  # fmt: skip
LATENT = DENSE | {
    "latent": {
        "query_rank": QUERY_RANK, "key_value_rank": KEY_RANK, "plain_width": PLAIN,
        "rotary_width": ROTARY, "value_width": VALUE,
    },
}  # fmt: skip
INDEXED = DENSE | {
    "latent": {
        **LATENT["latent"], "indexer": {"heads": INDEX_HEADS, "width": INDEX_WIDTH, "top": TOP},
    },
}  # fmt: skip
DELTA = DENSE | {
    "linear": {
        "key_heads": RULE_KEYS, "value_heads": RULE_HEADS, "key_width": RULE_KEY,
        "value_width": RULE_VALUE, "chunk": CHUNK, "convolution": TAPS,
    },
}  # fmt: skip
ROUTED = DENSE | {
    "experts": {
        "count": EXPERTS, "active": ACTIVE, "ffn": EXPERT_FFN, "shared_ffn": SHARED_FFN,
    },
}  # fmt: skip
HYBRID = DENSE | {
    "pattern": "M-M*",
    "mamba": {
        "heads": STATE_HEADS, "head_width": STATE_WIDTH, "groups": STATE_GROUPS, "state": STATE,
        "chunk": CHUNK, "convolution": TAPS,
    },
}  # fmt: skip


class Product(NamedTuple):
    """An (m, k) x (k, n) product of one NPU, with *copies* of the weights.

    ``thin``: every NPU of a tp group does it for all rows, unless the sequence is split; ``whole``:
    every one does, even so.
    """

    m: int
    n: int
    k: int
    copies: int = 1
    thin: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Split:
    """How a plan splits a micro-batch, as the formulas count it."""

    plan: ParallelPlan

    @property
    def rows(self) -> int:
        return BATCH * TOKENS // self.plan.cp

    @property
    def read(self) -> int:
        return BATCH * READ // self.plan.cp

    def thin(self, rows: int) -> int:
        return rows // self.plan.tp if self.plan.sequence_parallel else rows

    def ring(self, rows: int, width: int = HIDDEN) -> float:
        """Bytes that an NPU sends to gather or scatter *rows* over tp: (n - 1) / n of them."""
        return ELEMENT * rows * width * (self.plan.tp - 1) / self.plan.tp


def attention(rows: int, groups: int = GROUPS) -> Callable[[Split], list[Product]]:
    def products(split: Split) -> list[Product]:
        tp, m = split.plan.tp, rows // split.plan.cp
        made = (HEADS + 2 * groups) * WIDTH // tp
        return [Product(m, made, HIDDEN), Product(m, HIDDEN, HEADS * WIDTH // tp)]

    return products


def mlp(rows: int, inputs: int = 2) -> Callable[[Split], list[Product]]:
    def products(split: Split) -> list[Product]:
        ffn, m = FFN // split.plan.tp, rows // split.plan.cp
        return [Product(m, inputs * ffn, HIDDEN), Product(m, HIDDEN, ffn)]

    return products


def cross(split: Split) -> list[Product]:
    width = HEADS * WIDTH // split.plan.tp
    return [
        Product(split.rows, width, HIDDEN),
        Product(split.read, 2 * width, HIDDEN),
        Product(split.rows, HIDDEN, width),
    ]


def latent(split: Split) -> list[Product]:
    heads, rows = HEADS // split.plan.tp, split.rows
    narrow = QUERY_RANK + KEY_RANK + ROTARY
    return [
        Product(split.thin(rows), narrow, HIDDEN, thin=True),
        Product(rows, heads * (PLAIN + ROTARY), QUERY_RANK),
        Product(rows, heads * (PLAIN + VALUE), KEY_RANK),
        Product(rows, HIDDEN, heads * VALUE),
    ]


def indexed(split: Split) -> list[Product]:
    rows, index = split.rows, INDEX_WIDTH + INDEX_HEADS
    return [
        *latent(split),
        Product(split.thin(rows), index, HIDDEN, thin=True),
        Product(rows, INDEX_HEADS * INDEX_WIDTH, QUERY_RANK, whole=True),
    ]


def delta(split: Split) -> list[Product]:
    tp, rows, inner = split.plan.tp, split.rows, RULE_HEADS * RULE_VALUE
    return [
        Product(rows, (2 * RULE_KEYS * RULE_KEY + 2 * inner) // tp, HIDDEN),
        Product(rows, 2 * RULE_HEADS // tp, HIDDEN),
        Product(rows, HIDDEN, inner // tp),
    ]


def mamba(split: Split) -> list[Product]:
    inner = STATE_HEADS * STATE_WIDTH
    made = 2 * inner + 2 * STATE_GROUPS * STATE + STATE_HEADS
    return [
        Product(split.rows, made // split.plan.tp, HIDDEN),
        Product(split.rows, HIDDEN, inner // split.plan.tp),
    ]


def routed(split: Split) -> list[Product]:
    plan, own = split.plan, split.thin(split.rows)
    picked, held, ffn = own * ACTIVE * plan.expert_tp, EXPERTS // plan.ep, EXPERT_FFN
    ffn, shared = ffn // plan.expert_tp, SHARED_FFN // plan.tp
    return [
        Product(own, EXPERTS, HIDDEN, thin=True),
        Product(picked, 2 * ffn, HIDDEN, held, thin=True),
        Product(picked, HIDDEN, ffn, held, thin=True),
        Product(split.rows, 2 * shared, HIDDEN),
        Product(split.rows, HIDDEN, shared),
    ]


def patches(split: Split) -> list[Product]:
    return [Product(split.thin(split.rows), HIDDEN, PIXELS, thin=True)]


def classes(split: Split) -> list[Product]:
    return [Product(BATCH, CLASSES // split.plan.tp, HIDDEN)]


def pairs(rows: int, keys: int, seen: float, width: int = 2 * WIDTH) -> float:
    """FLOP of scores and weighted values: two per query, key that it sees, head and number."""
    return 2 * BATCH * rows * keys * seen * HEADS * width


CAUSAL = 1 / 2
IN_WINDOW = (WINDOW * TOKENS - WINDOW**2 / 2) / TOKENS**2
IN_TOP = (TOP * TOKENS - TOP**2 / 2) / TOKENS**2
"""Pairs under the diagonal and within the window, of all pairs."""


@dataclass(frozen=True)
class Theory:
    """A block by its formulas.

    Attributes:
        model, block: In which it stands.
        products: Of the forward pass of one NPU.
        parameters: Of the whole block, norm included.
        core: FLOP of the attention core of all NPUs.
        index: FLOP of an attention that every NPU of a tp group does by itself, causal.
        seen: The mask is skipped by a fused core: what another one does more.
        backward: Products of the backward pass over those of the forward pass.
    """

    model: dict[str, Any]
    products: Callable[[Split], list[Product]]
    parameters: int
    core: float = 0.0
    index: float = 0.0
    seen: float = 1.0
    backward: int = 2


_ATTENTION = HIDDEN * (HEADS + 2 * GROUPS) * WIDTH + HEADS * WIDTH * HIDDEN
_FULL = 4 * HIDDEN * HEADS * WIDTH
INNER = STATE_HEADS * STATE_WIDTH
MIXED = 2 * STATE_GROUPS * STATE
THEORIES: dict[str, Theory] = {
    "attention": Theory(
        DENSE, attention(BATCH * TOKENS), _ATTENTION + HIDDEN, pairs(TOKENS, TOKENS, CAUSAL),
        seen=CAUSAL,
    ),
    "windowed": Theory(
        DENSE | {"window": WINDOW},
        attention(BATCH * TOKENS),
        _ATTENTION + HIDDEN,
        pairs(TOKENS, TOKENS, IN_WINDOW),
        seen=IN_WINDOW,
    ),
    "mlp": Theory(DENSE, mlp(BATCH * TOKENS), 3 * HIDDEN * FFN + HIDDEN),
    "encoder_attention": Theory(
        BOTH, attention(BATCH * READ, HEADS), _FULL + HIDDEN, pairs(READ, READ, 1)
    ),
    "encoder_mlp": Theory(BOTH, mlp(BATCH * READ), 3 * HIDDEN * FFN + HIDDEN),
    "decoder_start": Theory(BOTH, lambda split: [], 0),
    "cross": Theory(BOTH, cross, _FULL + HIDDEN, pairs(TOKENS, READ, 1)),
    "latent": Theory(
        LATENT,
        latent,
        HIDDEN * (QUERY_RANK + KEY_RANK + ROTARY)
        + HEADS * (QUERY_RANK * (PLAIN + ROTARY) + KEY_RANK * (PLAIN + VALUE) + VALUE * HIDDEN)
        + HIDDEN + QUERY_RANK + KEY_RANK,
        pairs(TOKENS, TOKENS, CAUSAL, PLAIN + ROTARY + VALUE),
        seen=CAUSAL,
    ),
    "indexed": Theory(
        INDEXED,
        indexed,
        HIDDEN * (QUERY_RANK + KEY_RANK + ROTARY)
        + HEADS * (QUERY_RANK * (PLAIN + ROTARY) + KEY_RANK * (PLAIN + VALUE) + VALUE * HIDDEN)
        + HIDDEN + QUERY_RANK + KEY_RANK
        + QUERY_RANK * INDEX_HEADS * INDEX_WIDTH + HIDDEN * (INDEX_WIDTH + INDEX_HEADS)
        + 2 * INDEX_WIDTH,
        pairs(TOKENS, TOKENS, IN_TOP, PLAIN + ROTARY + VALUE),
        index=2 * BATCH * TOKENS**2 * CAUSAL * INDEX_HEADS * INDEX_WIDTH,
        seen=IN_TOP,
    ),
    "linear": Theory(
        DELTA,
        delta,
        HIDDEN * (2 * RULE_KEYS * RULE_KEY + 3 * RULE_HEADS * RULE_VALUE + 2 * RULE_HEADS)
        + TAPS * (2 * RULE_KEYS * RULE_KEY + RULE_HEADS * RULE_VALUE)
        + 2 * RULE_HEADS + RULE_VALUE + HIDDEN,
    ),
    "mamba": Theory(
        HYBRID,
        mamba,
        HIDDEN * (3 * INNER + MIXED + STATE_HEADS) + TAPS * (INNER + MIXED)
        + INNER + 3 * STATE_HEADS + HIDDEN,
    ),
    "experts": Theory(
        ROUTED,
        routed,
        3 * HIDDEN * (EXPERTS * EXPERT_FFN + SHARED_FFN) + HIDDEN * EXPERTS + HIDDEN,
    ),
    "patches": Theory(IMAGES, patches, PIXELS * HIDDEN, backward=1),  # no gradient of pixels
    "classes": Theory(IMAGES, classes, HIDDEN * CLASSES + 2 * HIDDEN),
}  # fmt: skip
