"""Kernel times from PyTorch: a host trace with the Kineto trace of the same run."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from simcore.errors import ConfigError
from simcore.formats.pytorch.device import DeviceTrace
from simcore.formats.pytorch.host import HostNode, HostTrace, tensor_bytes
from simcore.formats.pytorch.link import LinkedNode, link
from simcore.profiling.folder import KernelTime

_FORMATS = {
    "c10::BFloat16": "bf16",
    "c10::Half": "bf16",
    "float": "fp32",
    "c10::Float8_e4m3fn": "fp8",
    "c10::Float8_e5m2": "fp8",
}
_FEW_QUERIES = 16
"""Attention with so many times more keys than queries is that of decoding."""

_ELEMENTWISE = (
    *("add", "add_", "sub", "mul", "mul_", "div", "div_", "gelu", "gelu_backward", "silu"),
    *("silu_backward", "relu", "sigmoid", "tanh", "exp", "_softmax", "native_dropout"),
)
_NORMS = ("native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm")
_COPIES = ("copy_", "index_select", "gather", "cat", "index")
_OPTIMIZERS = ("_fused_adam_", "_fused_adamw_", "_foreach_addcdiv_")

Shape = tuple[int, ...]


def read_trace(host: HostTrace, device: DeviceTrace) -> list[KernelTime]:
    """Times of the products, attention and streaming kernels of a traced run.

    The time of an operator is that of the kernels that it launched itself; in a trace without any
    kernel, of a run on the processor, its own. Operators of other names are passed over.

    Raises:
        ConfigError: No operator of a known kind was measured.
    """
    linked = link(host, device)
    launched: dict[int, float] = defaultdict(float)
    for item in linked:
        if item.kernel is not None and item.inclusive_us is not None:
            launched[item.node.caller] += item.inclusive_us
    found = []
    for item in linked:
        us = launched.get(item.node.id) if launched else item.inclusive_us
        if item.kernel is None and us:
            time = _time_of(item, us)
            if time is not None:
                found.append(time)
    if not found:
        rule = "must hold operators with kernels, such as aten::mm, that were measured"
        raise ConfigError(str(host.path), rule, got="none")
    return found


def _time_of(item: LinkedNode, us: float) -> KernelTime | None:
    node = item.node
    name = node.name.removeprefix("aten::")
    place = _PLACES.get(name)
    if name == node.name or place is None:
        return None
    found = place(node)
    return None if found is None else KernelTime(*found, us)


Place = tuple[str, str, tuple[float, ...]]


def _product(node: HostNode, first: int) -> Place | None:
    """Product of inputs *first* and *first* + 1; a batch of one counts as none."""
    left, right = _shape(node, first), _shape(node, first + 1)
    if len(left) == len(right) == 3 and left[0] == right[0] == 1:
        left, right = left[1:], right[1:]
    if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
        return None
    sizes = float(left[0]), float(right[1]), float(left[1])
    format_ = _format(node, first)
    return ("product", format_, sizes) if format_ and min(sizes) > 0 else None


def _attention(node: HostNode, queries_at: int, heads_at: int, causal_at: int) -> Place | None:
    """Attention whose inputs are queries and keys of 4 dimensions, width last.

    Args:
        node: The operator.
        queries_at: Dimension of the queries.
        heads_at: Dimension of the heads.
        causal_at: Position of the input that says whether a causal mask lies over the scores.
    """
    query, key = _shape(node, 0), _shape(node, 1)
    if len(query) != 4 or len(key) != 4 or not min(*query, *key):
        return None
    group, rest = divmod(query[heads_at], key[heads_at])
    keys, width, format_ = key[queries_at], query[3], _format(node, 0)
    if rest or not format_:
        return None
    kind = "attention_decode" if query[queries_at] * _FEW_QUERIES <= keys else "attention_prefill"
    values = node.inputs.values
    masked = causal_at < len(values) and bool(values[causal_at])
    if kind == "attention_prefill" and (query[queries_at] != keys or not masked):
        return None  # chunks of a prompt, and scores without a mask, are neither of the two kinds
    return kind, format_, tuple(map(float, (query[0], key[heads_at], group, keys, width)))


def _stream(kind: str) -> Callable[[HostNode], Place | None]:
    def place(node: HostNode) -> Place | None:
        written = replace(node, inputs=node.outputs)
        moved = tensor_bytes(node) + tensor_bytes(written)
        return (kind, "bf16", (float(moved),)) if moved else None

    return place


_PLACES: Mapping[str, Callable[[HostNode], Place | None]] = {
    "mm": lambda node: _product(node, 0),
    "bmm": lambda node: _product(node, 0),
    "addmm": lambda node: _product(node, 1),
    "_scaled_mm": lambda node: _product(node, 0),
    "_flash_attention_forward": lambda node: _attention(node, 1, 2, 8),
    "_efficient_attention_forward": lambda node: _attention(node, 1, 2, 9),
    "_scaled_dot_product_cudnn_attention": lambda node: _attention(node, 2, 1, 6),
    "_scaled_dot_product_flash_attention_for_cpu": lambda node: _attention(node, 2, 1, 4),
    **dict.fromkeys(_ELEMENTWISE, _stream("elementwise")),
    **dict.fromkeys(_NORMS, _stream("norm")),
    **dict.fromkeys(_COPIES, _stream("copy")),
    **dict.fromkeys(_OPTIMIZERS, _stream("optimizer")),
}
"""By the names of operators in the namespace ``aten``."""


def _shape(node: HostNode, position: int) -> Shape:
    """Shape of an input that is a tensor, else empty."""
    shapes = node.inputs.shapes
    shape = shapes[position] if position < len(shapes) else None
    if not isinstance(shape, list) or not all(type(size) is int for size in shape):
        return ()
    return tuple(shape)


def _format(node: HostNode, position: int) -> str:
    """Number format of an input; empty where tables have none for it."""
    kinds = node.inputs.types
    kind = str(kinds[position]) if position < len(kinds) else ""
    return _FORMATS.get(kind.removeprefix("Tensor(").removesuffix(")"), "")
