"""Sections of layers and ends of a model, each written once for all pieces that have it."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from simcore.memo import Memo
from simcore.terms import LayerKind
from simcore.workload.program.node_work import NodeWork
from simcore.workload.program.npu_layers import NpuLayers
from simcore.workload.program.passes import Passes
from simcore.workload.program.piece import Origin, Section

Write = Callable[..., Section]
"""Writes a section that has still to be placed, from the kind of layer if it is one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SectionWriter:
    """Writes sections; equal ones are written once.

    Attributes:
        passes: Writes them where they are first asked for.
        layers: Whose passes these are.
    """

    passes: Passes
    layers: NpuLayers
    sections: dict[Hashable, Section] = field(default_factory=dict)
    works: dict[tuple[Origin, ...], NodeWork] = field(default_factory=dict)

    size_bytes: ClassVar[int] = 2**16
    """Estimate of what a writer takes that many plans have used."""

    def placed(
        self,
        write: Write,
        *kinds: LayerKind,
        entry: tuple[int, ...],
        gate: tuple[int, ...] | None = None,
    ) -> Section:
        """Output of *write*, placed; with no *gate* the weights are there."""
        key = (write.__name__, kinds, entry, gate)
        section = self.sections.get(key)
        if section is None:
            plain = self.plain((write.__name__, kinds, gate is None))
            section = self.sections[key] = plain.placed(entry, gate or ())
        return section

    def plain(self, origin: Origin) -> Section:
        """The section of this name before it is placed."""
        section = self.sections.get(origin)
        if section is None:
            name, kinds, is_there = origin
            write: Write = getattr(self.passes, name)
            written = write(*kinds) if is_there else write(*kinds, gathered=True)
            section = self.sections[origin] = replace(written, origin=origin)
        return section

    def node_work(self, origins: tuple[Origin, ...], memo: Memo) -> NodeWork:
        """Work of the nodes of the sections of these *origins*, wherever they are placed."""
        found = self.works.get(origins)
        if found is None:
            sections = [self.plain(origin) for origin in origins]
            items = [item for section in sections for item in section.item if item >= 0]
            entries = self.passes.means.catalog.named(items)
            forms = tuple([section.form for section in sections])
            found = self.works[origins] = NodeWork.of(forms, entries, memo)
        return found
