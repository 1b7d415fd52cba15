"""A decoder of a few lines, in functions of tensors, and the state that trains it.

Weights are bf16 leaves; beside them an fp32 main copy, an fp32 sum of the gradients, and Adam's two
fp32 moments: 18 bytes per parameter, as Megatron-LM holds them. A gradient is bf16 until it is
added to its sum, at once, weight by weight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cases import Case

_BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
_CLIPPED = 1.0
_EPSILON = 1e-5


def layer_of(torch: Any, case: Case) -> Callable[..., Any]:
    """A layer as a function of its input, its weights, and the cosines and sines of positions."""
    F, nn = torch.nn.functional, torch.nn.attention
    heads, kv_heads, head, width = case.heads, case.kv_heads, case.head, case.hidden
    is_gpt, backend = case.kind == "gpt", getattr(nn.SDPBackend, _BACKENDS[case.attention])
    on_gpu = torch.cuda.is_available()

    def normed(x: Any, weight: Any) -> Any:
        if is_gpt:
            return F.layer_norm(x, (width,), weight, None, _EPSILON)
        return F.rms_norm(x, (width,), weight, _EPSILON)

    def turned(x: Any, cosine: Any, sine: Any) -> Any:
        low, high = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-high, low), dim=-1) * sine

    def attended(q: Any, k: Any, v: Any) -> Any:
        grouped = heads != kv_heads
        if not on_gpu:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
        with nn.sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)

    def layer(x: Any, weights: Any, cosine: Any, sine: Any) -> Any:
        first, qkv, out, second, up, down = weights
        b, s, _ = x.shape
        split = F.linear(normed(x, first), qkv).view(b, s, heads + 2 * kv_heads, head)
        q, k, v = split.transpose(1, 2).split((heads, kv_heads, kv_heads), dim=1)
        if not is_gpt:
            q, k = turned(q, cosine, sine), turned(k, cosine, sine)
        mixed = attended(q, k, v).transpose(1, 2).reshape(b, s, width)
        x = x + F.linear(mixed, out)
        inner = F.linear(normed(x, second), up)
        if is_gpt:
            inner = F.gelu(inner, approximate="tanh")
        else:
            gate, linear = inner.chunk(2, dim=-1)
            inner = F.silu(gate) * linear
        return x + F.linear(inner, down)

    return layer


def loss_of(torch: Any, case: Case) -> Callable[..., Any]:
    """Final norm, head and cross entropy in fp32."""
    F, width, is_gpt = torch.nn.functional, case.hidden, case.kind == "gpt"

    def loss(x: Any, norm: Any, head: Any, targets: Any) -> Any:
        if is_gpt:
            x = F.layer_norm(x, (width,), norm, None, _EPSILON)
        else:
            x = F.rms_norm(x, (width,), norm, _EPSILON)
        logits = F.linear(x, head).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    return loss


def _positions(torch: Any, case: Case, device: str) -> tuple[Any, Any]:
    """Cosines and sines of rotary positions, tokens x elements of a head."""
    steps = torch.arange(0, case.head, 2, device=device).float() / case.head
    angles = torch.outer(torch.arange(case.sequence, device=device).float(), 1e4**-steps)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().bfloat16(), angles.sin().bfloat16()


def _shapes(case: Case) -> list[tuple[int, ...]]:
    inputs = 1 if case.kind == "gpt" else 2
    attention = (case.heads + 2 * case.kv_heads) * case.head
    h = case.hidden
    return [(h,), (attention, h), (h, h), (h,), (inputs * case.ffn, h), (h, case.ffn)]


@dataclass(slots=True)
class Net:
    """Weights and functions of one case, on *device*."""

    torch: Any
    case: Case
    device: str
    weights: list[Any]
    layer: Callable[..., Any]
    loss: Callable[..., Any]
    rotary: tuple[Any, Any]

    @classmethod
    def of(cls, torch: Any, case: Case, device: str) -> "Net":
        shapes = [(case.vocabulary, case.hidden)] + _shapes(case) * case.layers
        shapes += [(case.hidden,), (case.vocabulary, case.hidden)]
        if case.kind == "gpt":
            shapes.append((case.sequence, case.hidden))
        layer, loss = layer_of(torch, case), loss_of(torch, case)
        if case.mode == "compiled":
            layer, loss = torch.compile(layer, dynamic=False), torch.compile(loss, dynamic=False)
        weights = [_weight(torch, shape, device) for shape in shapes]
        return cls(torch, case, device, weights, layer, loss, _positions(torch, case, device))

    @property
    def parameters(self) -> int:
        return sum(weight.numel() for weight in self.weights)

    def forward(self, tokens: Any, targets: Any) -> Any:
        case, F = self.case, self.torch.nn.functional
        table, at = self.weights[0], 1
        x = F.embedding(tokens, table)
        if case.kind == "gpt":
            x = x + self.weights[-1]
        for _ in range(case.layers):
            args = (x, tuple(self.weights[at : at + 6]), *self.rotary)
            if case.recompute:
                again = self.torch.utils.checkpoint.checkpoint
                x = again(self.layer, *args, use_reentrant=False, preserve_rng_state=False)
            else:
                x = self.layer(*args)
            at += 6
        return self.loss(x, self.weights[at], self.weights[at + 1], targets)


def _weight(torch: Any, shape: tuple[int, ...], device: str) -> Any:
    if len(shape) == 1:
        made = torch.ones(shape, device=device, dtype=torch.bfloat16)
    else:
        made = torch.empty(shape, device=device, dtype=torch.bfloat16).normal_(0.0, 0.02)
    return made.requires_grad_()


class State:
    """Main copies, sums of gradients and Adam of a net's weights."""

    def __init__(self, net: Net) -> None:
        torch = self._torch = net.torch
        self._weights = net.weights
        self._main = [weight.detach().float() for weight in net.weights]
        for weight, main in zip(net.weights, self._main, strict=True):
            main.grad = torch.zeros_like(main)
            weight.register_post_accumulate_grad_hook(_adder(main.grad))
        fused = net.device != "cpu"
        self._adam = torch.optim.AdamW(self._main, lr=1e-5, fused=fused)

    def step(self) -> None:
        """Clip, update, copy to the weights, and clear the sums."""
        torch = self._torch
        torch.nn.utils.clip_grad_norm_(self._main, _CLIPPED, foreach=True)
        self._adam.step()
        with torch.no_grad():
            torch._foreach_copy_([one.detach() for one in self._weights], self._main)
            torch._foreach_zero_([main.grad for main in self._main])


def _adder(total: Any) -> Callable[[Any], None]:
    def add(weight: Any) -> None:
        total.add_(weight.grad)
        weight.grad = None

    return add
