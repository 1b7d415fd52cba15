"""Times of kernels by themselves, whose operands come from memory and not from the cache."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import cases

Row = dict[str, object]
Work = Callable[[Any], object]
_ROTATED_BYTES = 256 << 20
"""Operands of all sets together are at least so large, several times the cache."""
_RUN_MS, _RUNS = 12.0, 5


class Pieces:
    """Kernels on one accelerator.

    Each is captured in a graph that works through sets of operands in turn, so that the host is not
    waited for; where it cannot be captured it is issued call by call.
    """

    def __init__(self, torch: Any) -> None:
        self._torch, self._F = torch, torch.nn.functional

    def products(self, shapes: Sequence[tuple[int, int, int]]) -> Iterator[Row]:
        for m, n, k in shapes:
            sets = self._sets(2 * (m * k + k * n + m * n), lambda m=m, n=n, k=k: (
                self._made(m, k), self._made(n, k), self._torch.empty(
                    m, n, device="cuda", dtype=self._torch.bfloat16)))  # fmt: skip
            us = self._time(lambda one: self._torch.mm(one[0], one[1].t(), out=one[2]), sets)
            yield {"piece": "product", "m": m, "n": n, "k": k, "us": us}

    def weight_gradients(self, shapes: Sequence[tuple[int, int, int]]) -> Iterator[Row]:
        for m, n, k in shapes:
            sets = self._sets(2 * (m * k + k * n + m * n), lambda m=m, n=n, k=k: (
                self._made(m, k), self._made(m, n)))  # fmt: skip
            us = self._time(lambda one: self._torch.mm(one[1].t(), one[0]), sets)
            yield {"piece": "weight gradient", "m": m, "n": n, "k": k, "us": us}

    def attention(self, backend: str) -> Iterator[Row]:
        for b, heads, kv_heads, s, d in cases.ATTENTION:
            q, do = self._made(b, s, heads, d), self._made(b, s, heads, d).transpose(1, 2)
            k, v = self._made(b, s, kv_heads, d), self._made(b, s, kv_heads, d)
            for one in (q, k, v):
                one.requires_grad_()
            inputs = [one.transpose(1, 2) for one in (q, k, v)]
            attend = self._attend(backend, grouped=heads != kv_heads)
            row: Row = {"piece": f"attention {backend}", "b": b, "heads": heads}
            row |= {"kv_heads": kv_heads, "s": s, "d": d}
            try:
                row |= self._both_ways(attend, inputs, (q, k, v), do)
            except RuntimeError as error:
                row["error"] = str(error).split("\n")[0][:300]
            yield row

    def _both_ways(self, attend: Work, inputs: Any, leaves: Any, gradient: Any) -> Row:
        grad = self._torch.autograd.grad
        with self._torch.no_grad():
            us = self._time(attend, [inputs])
        out = attend(inputs)
        back_us = self._issued(lambda _: grad(out, leaves, gradient, retain_graph=True), [None])
        return {"us": us, "backward_us": back_us}

    def _attend(self, backend: str, *, grouped: bool) -> Work:
        nn, F = self._torch.nn.attention, self._F
        name = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}[backend]

        def attend(one: Any) -> object:
            with nn.sdpa_kernel(getattr(nn.SDPBackend, name)):
                return F.scaled_dot_product_attention(*one, is_causal=True, enable_gqa=grouped)

        return attend

    def streams(self, *, compiled: bool) -> Iterator[Row]:
        """Kernels that are bound by memory; *bytes*: what must be moved."""
        torch = self._torch
        for rows, columns in cases.ROWS[:1] if compiled else cases.ROWS:
            size = 2 * rows * columns
            for name, (work, moved, operands) in self._forms(columns).items():
                made = torch.compile(work, dynamic=False) if compiled else work
                sets = self._sets(
                    (operands + 1) * size,
                    lambda n=operands, r=rows, c=columns: tuple(self._made(r, c) for _ in range(n)),
                )
                with torch.no_grad():
                    us = self._time(lambda one, made=made: made(*one), sets)
                kind = f"{name} compiled" if compiled else name
                yield {"piece": kind, "m": rows, "n": columns, "us": us, "bytes": moved * size}

    def _forms(self, columns: int) -> dict[str, tuple[Callable[..., Any], int, int]]:
        """Functions, tensors that they must move, and operands."""
        F = self._F
        weight = self._made(columns)
        return {
            "rms norm": (lambda x: F.rms_norm(x, (columns,), weight, 1e-5), 2, 1),
            "layer norm": (lambda x: F.layer_norm(x, (columns,), weight, None, 1e-5), 2, 1),
            "swiglu": (lambda x, y: F.silu(x) * y, 3, 2),
            "gelu": (lambda x: F.gelu(x, approximate="tanh"), 2, 1),
            "residual": (lambda x, y: x + y, 3, 2),
            "residual and rms norm": (
                lambda x, y: (x + y, F.rms_norm(x + y, (columns,), weight, 1e-5)),
                4,
                2,
            ),
        }

    def copies(self) -> Iterator[Row]:
        for size in cases.COPIES:
            sets = self._sets(2 * size, lambda n=size // 2: (self._made(n), self._made(n)))
            us = self._time(lambda one: one[0].copy_(one[1]), sets)
            yield {"piece": "copy", "m": size, "us": us, "bytes": 2 * size}

    def optimizers(self) -> Iterator[Row]:
        torch = self._torch
        for count in (1 << 26, 1 << 29):
            main = torch.randn(count, device="cuda")
            main.grad = torch.randn(count, device="cuda")
            adam = torch.optim.AdamW([main], lr=1e-5, fused=True)
            us = self._issued(lambda _, adam=adam: adam.step(), [None])
            yield {"piece": "fused adamw", "m": count, "us": us, "bytes": 28 * count}
            clip = torch.nn.utils.clip_grad_norm_
            us = self._issued(lambda _, m=main, c=clip: c([m], 1.0, foreach=True), [None])
            yield {"piece": "clip", "m": count, "us": us, "bytes": 12 * count}

    def losses(self) -> Iterator[Row]:
        torch = self._torch
        for rows, vocabulary in ((8192, 32000), (8192, 128256)):
            logits = self._made(rows, vocabulary).requires_grad_()
            targets = torch.randint(vocabulary, (rows,), device="cuda")

            def work(_: Any, logits: Any = logits, targets: Any = targets) -> object:
                loss = self._F.cross_entropy(logits.float(), targets)
                return torch.autograd.grad(loss, logits)

            us = self._issued(work, [None])
            yield {"piece": "loss both ways", "m": rows, "n": vocabulary, "us": us}

    def _made(self, *shape: int) -> Any:
        return self._torch.randn(shape, device="cuda", dtype=self._torch.bfloat16)

    def _sets(self, size_bytes: int, make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(min(48, 1 + _ROTATED_BYTES // size_bytes))]

    def _time(self, work: Work, sets: Sequence[Any]) -> float:
        """Median time of one call, in us."""
        torch = self._torch
        single_us = self._issued(work, sets, runs=2)
        calls = max(len(sets), min(400, int(1e3 * _RUN_MS / single_us)))
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for at in range(calls):
                    work(sets[at % len(sets)])
        except RuntimeError:
            torch.cuda.synchronize()
            return self._issued(work, sets)
        return self._between(graph.replay, _RUNS) / calls

    def _issued(self, work: Work, sets: Sequence[Any], runs: int = _RUNS) -> float:
        for one in sets[:3]:
            work(one)
        work(sets[0])
        calls = max(len(sets), 5)

        def every() -> None:
            for at in range(calls):
                work(sets[at % len(sets)])

        return self._between(every, runs) / calls

    def _between(self, work: Callable[[], object], runs: int) -> float:
        event, pairs = self._torch.cuda.Event, []
        work()
        for _ in range(runs):
            begin, end = event(enable_timing=True), event(enable_timing=True)
            begin.record()
            work()
            end.record()
            pairs.append((begin, end))
        self._torch.cuda.synchronize()
        return float(median([1e3 * begin.elapsed_time(end) for begin, end in pairs]))
