"""What is measured on one accelerator: training iterations, and kernels by themselves."""

from dataclasses import asdict, dataclass, replace

_GPT, _LLAMA = "gpt", "llama"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One training iteration.

    Attributes:
        kind: ``gpt`` (LayerNorm, GELU, learned positions) or ``llama`` (RMSNorm, SwiGLU, RoPE).
        accumulated: Micro-batches of an iteration.
        recompute: Each layer keeps its input alone, and is repeated in the backward pass.
        mode: ``eager``, or ``compiled``: layers, and the head with its loss, by torch.compile.
        attention: Backend of scaled dot product attention: ``flash`` or ``cudnn``.
    """

    kind: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int
    sequence: int
    micro_batch: int
    accumulated: int = 1
    recompute: bool = False
    mode: str = "eager"
    attention: str = "flash"

    @property
    def head(self) -> int:
        """Elements of a head."""
        return self.hidden // self.heads

    @property
    def name(self) -> str:
        parts = [self.kind, f"h{self.hidden}", f"l{self.layers}", f"a{self.heads}"]
        parts += [f"kv{self.kv_heads}", f"f{self.ffn}", f"v{self.vocabulary}", f"s{self.sequence}"]
        parts += [f"b{self.micro_batch}", f"m{self.accumulated}"]
        parts += ["full" if self.recompute else "none", self.mode, self.attention]
        return "-".join(parts)

    def columns(self) -> dict[str, object]:
        return asdict(self)


def _gpt(hidden: int, layers: int, sequence: int, micro_batch: int, heads: int = 0) -> Case:
    return Case(
        kind=_GPT, hidden=hidden, layers=layers, heads=heads or hidden // 128,
        kv_heads=heads or hidden // 128, ffn=4 * hidden, vocabulary=50304, sequence=sequence,
        micro_batch=micro_batch,
    )  # fmt: skip


_LLAMAS = {2048: (8, 16, 16, 5632), 4096: (4, 32, 8, 14336), 8192: (2, 64, 8, 28672)}
"""Hidden: layers, heads, key and value heads, inner width of the MLP."""


def _llama(hidden: int, sequence: int, micro_batch: int, vocabulary: int = 32000) -> Case:
    layers, heads, kv_heads, ffn = _LLAMAS[hidden]
    return Case(
        kind=_LLAMA, hidden=hidden, layers=layers, heads=heads, kv_heads=kv_heads, ffn=ffn,
        vocabulary=vocabulary, sequence=sequence, micro_batch=micro_batch,
    )  # fmt: skip


def _eager() -> list[Case]:
    wide = _llama(4096, 4096, 2)
    plain = [
        wide,
        _gpt(4096, 4, 2048, 4),
        _gpt(2048, 8, 2048, 4),
        _llama(8192, 4096, 1),
        _llama(2048, 2048, 4),
        _llama(4096, 4096, 2, 128256),
        _gpt(8192, 2, 2048, 2),
        _llama(2048, 8192, 1),
        _llama(4096, 8192, 1),
        replace(wide, kv_heads=32, ffn=11008),
        _llama(4096, 2048, 1),
        _llama(2048, 2048, 1),
        _gpt(2048, 8, 2048, 1),
        _gpt(4096, 4, 8192, 1),
        _llama(8192, 2048, 1),
        _gpt(2048, 8, 2048, 2, heads=32),
        replace(_llama(2048, 2048, 4, 128256), layers=4),
        _llama(2048, 2048, 2),
    ]
    again = [replace(plain[at], recompute=True) for at in (0, 1, 7, 8)]
    again.append(replace(_llama(8192, 4096, 2), recompute=True))
    again.append(replace(_llama(4096, 4096, 1), layers=8, recompute=True))
    more = [replace(plain[at], accumulated=4) for at in (10, 12, 4)]
    others = [replace(plain[at], attention="cudnn") for at in (8, 0)]
    return [*plain[:4], again[0], *plain[4:], *again[1:], *more, *others]


EAGER = _eager()
REPEATED = [EAGER[0], EAGER[2], EAGER[5]]
"""Measured twice, to know the spread."""

_COMPILED = (
    _llama(4096, 4096, 2),
    _gpt(4096, 4, 2048, 4),
    replace(_llama(4096, 4096, 2), recompute=True),
    _llama(2048, 2048, 4),
    _llama(4096, 4096, 2, 128256),
    _llama(8192, 4096, 1),
    _llama(2048, 2048, 1),
    replace(_llama(4096, 2048, 1), accumulated=4),
    _gpt(2048, 8, 2048, 4),
    _llama(2048, 8192, 1),
    replace(_llama(4096, 4096, 2), attention="cudnn"),
    _gpt(4096, 4, 8192, 1),
)
COMPILED = [replace(case, mode="compiled") for case in _COMPILED]

PROFILED = (0, 1, 3, 5)
"""Places in ``EAGER`` and ``COMPILED`` whose kernels are told one by one."""

PRODUCTS = [
    (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
    (16384, 16384, 16384),
    (8192, 12288, 4096), (8192, 4096, 4096), (8192, 16384, 4096), (8192, 4096, 16384),
    (8192, 28672, 4096), (8192, 4096, 14336), (8192, 6144, 4096),
    (2048, 6144, 2048), (2048, 2048, 8192), (8192, 11264, 2048), (4096, 57344, 8192),
    (8192, 128256, 4096), (8192, 1024, 4096), (16384, 64, 4096), (8192, 128, 8192),
    (4096, 4224, 4096), (2176, 4096, 4096), (8192, 8192, 256), (8192, 8192, 64),
    (1, 4096, 4096), (16, 4096, 4096), (1, 28672, 4096), (8, 28672, 4096), (32, 28672, 4096),
    (64, 28672, 4096), (128, 28672, 4096), (256, 28672, 4096), (64, 8192, 28672),
]  # fmt: skip
"""m, n, k of (m, k) x (k, n), the second operand stored by columns as weights are."""

WEIGHT_GRADIENTS = [
    (8192, 28672, 4096), (8192, 4096, 14336), (8192, 16384, 4096), (8192, 6144, 2048),
    (2048, 6144, 2048), (8192, 32000, 4096),
]  # fmt: skip
"""m, n, k of the forward product."""

ATTENTION = [
    (2, 32, 32, 4096, 128), (4, 16, 16, 2048, 128), (2, 32, 8, 4096, 128), (1, 32, 8, 8192, 128),
    (1, 64, 8, 16384, 128), (4, 32, 32, 2048, 64), (8, 16, 16, 1024, 128), (16, 16, 16, 512, 64),
]  # fmt: skip
"""Sequences, query heads, key and value heads, tokens, elements of a head; causal."""

ROWS = [(8192, 4096), (8192, 14336), (2048, 2048)]
"""Rows and columns of element-wise kernels."""

COPIES = [1 << 20, 1 << 24, 1 << 27, 1 << 30, 1 << 32]
"""Bytes that a copy reads."""
