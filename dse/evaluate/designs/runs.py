"""The runs that the designs of a study mean."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.designs.assign import Assignment, kept_slots, trimmed_run
from dse.space import Design
from simcore import Run, RunTemplate

_SHAPES_KEPT = 64
"""Sets of knobs, which differ where a knob has no meaning in a design."""

R = TypeVar("R", covariant=True)
"""Type of a study's ``run``."""


class Template(Protocol[R]):
    """A file whose names are resolved, to be filled with the values of many designs."""

    def prepare(self, paths: Iterable[str]) -> None:
        """Do beforehand what all that set *paths* have in common."""

    def with_values(self, values: Mapping[str, object]) -> R:
        """Meaning of the file with *values* by path."""


@dataclass(frozen=True, slots=True, eq=False)
class _Form(Generic[R]):
    """Common part of designs with the same knobs."""

    template: Template[R]
    assignment: Assignment


class FilledDesigns(Generic[R]):
    """One template per number of network dimensions, and the way of each knob into it."""

    def __init__(
        self,
        what: EvaluatorInput,
        read: Callable[[Mapping[str, object], Path | None], Template[R]],
    ) -> None:
        """Read the files that the study's ``run`` names.

        Args:
            what: The study.
            read: Makes a template of the content of ``run`` and the folder that paths start from.

        Raises:
            ConfigError: One is missing or not valid.
        """
        self._input = what
        beside = Path(what.folder) if what.folder else None
        self._runs = {kept: trimmed_run(what.run, kept) for kept in what.dimensions.values()}
        self._templates = {kept: read(run, beside) for kept, run in self._runs.items()}
        self._form: Callable[[tuple[str, ...]], _Form[R]] = lru_cache(_SHAPES_KEPT)(self._form_of)
        self._prepare()

    def without_values(self) -> list[R]:
        """The run of each number of dimensions, without any knob's value."""
        return [template.with_values({}) for template in self._templates.values()]

    def run(self, design: Design) -> R:
        """The run that *design* means.

        Raises:
            ConfigError: A value that the run file does not allow.
        """
        form = self._form(tuple(design))
        return form.template.with_values(form.assignment.values(design))

    def written(self, design: Design) -> tuple[Mapping[str, Any], Mapping[str, object], object]:
        """The study's run as its file has it, values of *design* by path, and the resolved run."""
        form = self._form(tuple(design))
        kept = kept_slots(tuple(design), self._input.parameters, self._input.dimensions)
        table = getattr(form.template, "table", {})
        return self._runs[kept], form.assignment.values(design), table

    def by_template(
        self, designs: Sequence[Design]
    ) -> Iterator[tuple[Template[R], list[int], list[dict[str, object]]]]:
        """Designs with the same number of dimensions: their template, positions and values."""
        found: dict[int, tuple[Template[R], list[int], list[dict[str, object]]]] = {}
        for position, design in enumerate(designs):
            form = self._form(tuple(design))
            _, positions, values = found.setdefault(id(form.template), (form.template, [], []))
            positions.append(position)
            values.append(form.assignment.values(design))
        yield from found.values()

    def forms(self) -> Iterator[tuple[Template[R], Assignment]]:
        """Per number of network dimensions the template, and the way of all its knobs into it."""
        parameters = self._input.parameters
        for kept in self._templates:
            names = (n for n, knob in parameters.items() if knob.slot is None or knob.slot in kept)
            form = self._form(tuple(names))
            yield form.template, form.assignment

    def partial_run(self, design: Design, kept: Sequence[int]) -> R:
        """The run with the values of some knobs alone, and the dimensions *kept*.

        Raises:
            ConfigError: A value that the run file does not allow.
        """
        kept = tuple(kept)
        assignment = Assignment.of(tuple(design), self._input.parameters, kept, self._runs[kept])
        return self._templates[kept].with_values(assignment.values(design))

    def _prepare(self) -> None:
        """Make ready for the designs that have every knob of their number of dimensions."""
        for template, assignment in self.forms():
            template.prepare(assignment.paths)

    def _form_of(self, names: tuple[str, ...]) -> _Form[R]:
        what = self._input
        kept = kept_slots(names, what.parameters, what.dimensions)
        assignment = Assignment.of(names, what.parameters, kept, self._runs[kept])
        return _Form(self._templates[kept], assignment)


class DesignRuns(FilledDesigns[Run]):
    """The runs of a study whose ``run`` is a run file."""

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what, lambda run, beside: RunTemplate.from_table(run, beside=beside))
