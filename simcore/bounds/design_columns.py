"""Many designs as columns of small integers, and the parts of a run that depend on which columns.

A design sets values at paths of a run file. Most of what a bound needs depends on few of them, so
that it is worked out once per combination of their values, and looked up for each design.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.grown import Grown
from simcore.bounds.machines.machine_terms import AXES, KINDS
from simcore.bounds.plans.plan_terms import PlanTerms
from simcore.bounds.plans.term_rows import TermRows
from simcore.config import RunTemplate, parse_path
from simcore.errors import ConfigError
from simcore.kernels.bounds import tables as kernel_tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Codes = Mapping[str, NDArray[np.integer[Any]]]
"""Per path, (N,) positions in the list of its choices; -1: the template's own value."""

_DENSE = 1 << 22
_UNKNOWN = -2
_UNITS = {"bandwidth": "B/s", "latency": "s", "endpoint_delay": "s", "memory": "B"}
_FRAME_PREFIX = "params."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DesignColumns:
    """Knobs that designs set, and the choice that each of them makes.

    Attributes:
        choices: By path in the run file, the values as a run file would write them.
        codes: By path, (N,) positions in these lists; -1 leaves the template's value.
    """

    choices: Mapping[str, tuple[Any, ...]]
    codes: Codes

    @classmethod
    def of(cls, designs: object) -> "DesignColumns":
        """From a list of dicts, a mapping of columns, or a DataFrame (of ``params.*`` columns).

        Numbers stand for base units (B/s, s); missing values leave the template's own.

        Raises:
            ConfigError: *designs* is none of these.
        """
        choices, codes = {}, {}
        for path, values in _columns(designs).items():
            codes[path], choices[path] = _coded(path, values)
        return cls(choices=choices, codes=codes)


def _coded(path: str, values: Sequence[object]) -> tuple[Ints, tuple[Any, ...]]:
    """Position of each value of a column among those that differ, and these as a file has them."""
    keys = _told_apart(values)
    differ = dict(zip(keys, values, strict=True))
    position: dict[str, int] = {}
    choices: list[object] = []
    code_of: dict[Hashable, int] = {}
    for key, value in differ.items():
        written = _written(path, value)
        code = -1 if written is None else position.setdefault(repr(written), len(choices))
        if code == len(choices):
            choices.append(written)
        code_of[key] = code
    codes = np.fromiter(map(code_of.__getitem__, keys), np.int64, len(keys))
    return codes, tuple(choices)


def _told_apart(values: Sequence[object]) -> Sequence[Hashable]:
    """Keys of *values*, equal for those that a file writes alike."""
    numbers = set(map(type, values)) - {str, type(None)}
    try:
        if len(numbers) <= 1:
            hash(tuple(values))
            return values
        keys = list(zip(map(type, values), values, strict=True))  # 1, 1.0 and True are equal
        hash(tuple(keys))
    except TypeError:  # lists cannot be keys
        return list(map(repr, values))
    return keys


def _columns(designs: object) -> dict[str, Sequence[object]]:
    if hasattr(designs, "to_dict") and hasattr(designs, "columns"):
        frame: dict[str, Sequence[object]] = designs.to_dict("list")
        prefixed = [name for name in frame if name.startswith(_FRAME_PREFIX)]
        return {n.removeprefix(_FRAME_PREFIX): frame[n] for n in prefixed} or frame
    if isinstance(designs, Mapping):
        return dict(designs)
    if isinstance(designs, Sequence) and all(isinstance(row, Mapping) for row in designs):
        paths = dict.fromkeys(path for row in designs for path in row)
        return {path: [row.get(path) for row in designs] for path in paths}
    rule = "must be a list of designs, a mapping of columns, or a DataFrame"
    raise ConfigError("designs", rule, got=type(designs).__name__)


def _written(path: str, value: object) -> object:
    """*value* as a run file has it; None where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and value != value):
        return None
    unit = _UNITS.get(str(parse_path(path)[-1]))
    if unit and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r} {unit}"
    if isinstance(value, float) and value.is_integer():
        return int(value)  # a column of integers with gaps
    return value


@dataclass(slots=True, eq=False)
class ColumnSet:
    """A part of the run: which columns it depends on, and a number for each of their combinations.

    Attributes:
        template: The run file.
        choices: Of all columns.
        roots: Paths of the part; it depends on columns above and below them.
        build: Makes row n of the part's table from a run; gives n, or a negative number.
        without: Paths below the roots that the part does not depend on, nor any rule that it keeps.
        read: Gives *build* what it asks for from the values of a design; None: the whole run.
    """

    template: RunTemplate
    choices: Mapping[str, tuple[Any, ...]]
    roots: Sequence[str]
    build: Callable[[Any], Any]
    without: Sequence[str] = ()
    read: Callable[[Mapping[str, object]], object] | None = None
    _paths: list[str] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)
    _dense: Ints | None = None

    def __post_init__(self) -> None:
        roots = [parse_path(root) for root in self.roots]
        choices = [path for path in self.choices if path not in self.without]
        self._paths = [p for p in choices if any(_related(parse_path(p), r) for r in roots)]
        if self.combinations <= _DENSE:
            self._dense = np.full(self.combinations, _UNKNOWN, np.int64)

    @property
    def paths(self) -> list[str]:
        """The columns that it depends on."""
        return self._paths

    @property
    def combinations(self) -> int:
        return prod(len(self.choices[path]) + 1 for path in self.paths)

    def rows(self, codes: Codes, designs: slice) -> Ints | int:
        """Row of each design, or one row for all where no column matters."""
        key: Ints | int = 0
        for path in self.paths:
            column = codes[path][designs].astype(np.int64, copy=False)
            if isinstance(key, int):
                key = column + 1
                continue
            key *= len(self.choices[path]) + 1
            key += column
            key += 1
        if isinstance(key, int):
            return self._row(key)
        if self._dense is None:
            distinct, inverse = np.unique(key, return_inverse=True)
            return np.array([self._row(int(k)) for k in distinct], np.int64)[inverse]
        rows = self._dense[key]
        if (rows == _UNKNOWN).any():
            for k in np.unique(key[rows == _UNKNOWN]).tolist():
                self._dense[k] = self._row(k)
            rows = self._dense[key]
        return rows

    def _row(self, key: int) -> int:
        if key not in self._known:
            self._known[key] = self._made(key)
        return self._known[key]

    def _made(self, key: int) -> int:
        """A new row."""
        row: int = self._built(key)
        return row

    def _built(self, key: int) -> Any:
        read = self.read or self.template.with_values
        return self.build(read(self._values(key)))

    def _values(self, key: int) -> dict[str, object]:
        values: dict[str, object] = {}
        for path in reversed(self.paths):
            key, code = divmod(key, len(self.choices[path]) + 1)
            if code:
                values[path] = self.choices[path][code - 1]
        return dict(reversed(values.items()))


def _related(path: tuple[str | int, ...], root: tuple[str | int, ...]) -> bool:
    """True if one of the two places lies in the other."""
    shared = min(len(path), len(root))
    return path[:shared] == root[:shared]


def _ints() -> Grown:
    return Grown(np.int64)


def _floats() -> Grown:
    return Grown(np.float64)


@dataclass(slots=True, eq=False)
class PlanRows:
    """Rows of the kernel's tables about plans; grows plan by plan.

    Attributes:
        longest: Most collectives and segments of a plan, nodes of a segment, stages of a plan.
    """

    plans: Grown = field(default_factory=lambda: Grown(kernel_tables.PLAN))
    memory_ns_per_byte: Grown = field(default_factory=_floats)
    collectives: Grown = field(default_factory=lambda: Grown(kernel_tables.COLLECTIVE))
    segments: Grown = field(default_factory=_ints)
    nodes: Grown = field(default_factory=lambda: Grown(kernel_tables.NODE))
    node_ns: Grown = field(default_factory=_floats)
    deps: Grown = field(default_factory=_ints)
    stages: Grown = field(default_factory=lambda: Grown(kernel_tables.STAGE))
    sums: Grown = field(default_factory=_ints)
    sum_of_term: Grown = field(default_factory=_ints)
    terms: Grown = field(default_factory=_ints)
    factors: Grown = field(default_factory=_floats)
    constants: Grown = field(default_factory=lambda: Grown(np.float64, (kernel_tables.SUMS,)))
    rooms: Grown = field(default_factory=_ints)
    room_ns: Grown = field(default_factory=_floats)
    room_items: Grown = field(default_factory=_ints)
    longest: list[int] = field(default_factory=lambda: [1, 1, 1])

    def add(self, terms: PlanTerms, memory_ns_per_byte: float) -> int:
        """Append one plan; gives its row."""
        plan = len(self.collectives), len(self.segments), len(self.stages), len(self.rooms)
        rest = terms.batches, terms.message_bytes, terms.interleave, terms.overlaps
        self.plans.append((*plan, *rest))
        self.memory_ns_per_byte.append(memory_ns_per_byte)
        for kind, axis, size_bytes in terms.collectives:
            self.collectives.append((KINDS[kind], AXES.index(axis), size_bytes))
        for beside, room_ns in terms.rooms:
            self.rooms.append(len(self.room_items))
            self.room_items.extend(beside)
            self.room_ns.append(room_ns)
        rows = terms.rows
        of_stage = rows.kind_of_stage + len(self.sums)
        held = np.array(terms.held, np.int64)
        self.stages.join(np.stack([of_stage, held], axis=1).view(kernel_tables.STAGE)[:, 0])
        self._join(rows)
        self.node_ns.join(terms.node_ns)
        most = len(terms.collectives) + 2 * rows.segments.size, rows.longest, held.size
        self.longest[:] = np.maximum(self.longest, most).tolist()
        return len(self.plans) - 1

    def _join(self, rows: TermRows) -> None:
        """Append what the plan has in common with those of like programs."""
        nodes = rows.nodes.copy()
        nodes[:, 1:3] += len(self.deps)
        self.segments.join(rows.segments + len(self.nodes))
        self.nodes.join(nodes.view(kernel_tables.NODE)[:, 0])
        self.deps.join(rows.deps)
        self.sums.join(rows.sums + len(self.terms))
        self.constants.join(rows.constants)
        self.sum_of_term.join(rows.sum_of_term)
        self.terms.join(rows.terms)
        self.factors.join(rows.factors)

    def arrays(self) -> dict[str, Any]:
        """The fields of ``BoundTables`` that are about plans."""
        begins = self.collectives, self.segments, self.stages, self.rooms
        end = *map(len, begins), 0, 0, 0, 0
        return {
            "plans": self.plans.array_and(end),
            "memory_ns_per_byte": self.memory_ns_per_byte.array(),
            "collectives": self.collectives.array(),
            "segments": self.segments.array_and(len(self.nodes)),
            "nodes": self.nodes.array(),
            "node_ns": self.node_ns.array(),
            "deps": self.deps.array(),
            "stages": self.stages.array(),
            "sums": self.sums.array_and(len(self.terms)),
            "sum_of_term": self.sum_of_term.array(),
            "terms": self.terms.array(),
            "factors": self.factors.array(),
            "constants": self.constants.array(),
            "rooms": self.rooms.array_and(len(self.room_items)),
            "room_ns": self.room_ns.array(),
            "room_items": self.room_items.array(),
        }
