"""Latent attention whose queries see the few tokens that an indexer picks."""

from dataclasses import replace

from simcore.workload.graph import Kernel
from simcore.workload.kinds.transformer.blocks.context import context_parallel
from simcore.workload.kinds.transformer.blocks.latent import Latent
from simcore.workload.kinds.transformer.model_parts import Indexer
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.program.kernel_costs import elementwise
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.work import PassWriter

_SCORE_BYTES = 4  # scores of the indexer are fp32
_KEY_BYTES = 1  # its queries and keys have 8 bits
_ROTATION_FLOP = 20


class Indexed(Latent):
    """Latent attention after the scores of a small one and the choice of the best of them.

    The indexer is whole on every NPU of a tensor parallel group. Its queries are made of the latent
    of the queries, its one key and the weights of its heads beside the latents. Backward its scores
    are computed once more, for they are compared with those of the attention, and give gradients to
    its queries and key.

    Source: DeepSeek-AI, "DeepSeek-V3.2-Exp", September 2025, section 1.
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        own, indexer = super().parameters, self._indexer
        made = self.latent_part.query_rank * indexer.heads * indexer.width
        return replace(own, whole=own.whole + made + 2 * indexer.width)

    def core(self, work: PassWriter) -> None:
        kernels = [one for part in self.share.cores for one in self._choice(part)]
        work.compute("index", [self._narrowed(), *kernels])
        context_parallel(self.share.limited, self.plan).forward(work)

    def core_gradient(self, work: PassWriter) -> None:
        context_parallel(self.share.limited, self.plan).backward(work)
        scores = self._scores("index scores gradient", self.share)
        work.compute("index", [scores._replace(flop=3 * scores.flop, bytes=3 * scores.bytes)])

    @property
    def kept_bytes(self) -> int:
        queries = 0 if self.repeats("latent_heads") else self._indexer.heads * self._indexer.width
        return super().kept_bytes + self.share.element_bytes * self.share.rows * queries

    @property
    def made(self) -> list[tuple[str, int]]:
        key = "index key and weights", self._indexer.width + self._indexer.heads
        return [*super().made, key]

    def products(self) -> list[tuple[str, int, int, int]]:
        indexer, rank = self._indexer, self.latent_part.query_rank
        queries = "index queries", self.share.rows, indexer.heads * indexer.width, rank
        return [*super().products(), queries]

    @property
    def _indexer(self) -> Indexer:
        if self.latent_part.indexer is None:
            raise AssertionError("a model with indexed attention has an indexer")
        return self.latent_part.indexer

    def _narrowed(self) -> Kernel:
        """Queries and key get their position, are rotated, and written in 8 bits."""
        indexer, share = self._indexer, self.share
        numbers = share.rows * (indexer.heads + 1) * indexer.width
        moved = (share.element_bytes + _KEY_BYTES) * numbers
        return elementwise("index rotation", _ROTATION_FLOP * numbers, moved)

    def _choice(self, part: Share) -> list[Kernel]:
        """Scores, and the best of each query; nothing is chosen where all are few enough."""
        if part.sequence <= self._indexer.top:
            return []
        scores = part.visible * part.rows * part.sequence
        best = elementwise("index top-k", scores, _SCORE_BYTES * scores)
        return [self._scores("index scores", part), best]

    def _scores(self, name: str, part: Share) -> Kernel:
        indexer = self._indexer
        scores, rows = part.visible * part.rows * part.sequence, part.key_rows or part.rows
        read = _KEY_BYTES * indexer.width * (rows + part.rows * indexer.heads)
        return Kernel(
            name=name,
            kind="attention",
            flop=2 * scores * indexer.heads * indexer.width,
            bytes=float(read + _SCORE_BYTES * scores),
            m=part.queries,
            n=part.sequence,
            k=indexer.width,
            groups=max(1, part.rows // part.queries),
            heads=indexer.heads,
            key_heads=1,
        )
