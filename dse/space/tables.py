"""Lists every valid combination of knobs that rules tie together.

Knobs that share a product, a rule or a condition form one block; all valid value combinations of
a block are listed once, before the search starts. What a sampler later picks is a row of such a
table, so that no proposal can break a rule, and the size of the space is a product of row counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.space.exact import column_of
from dse.space.expressions import Expression
from dse.space.parameters import Parameter, Value
from simcore import ConfigError

MAX_ROWS = 2_000_000
"""Most combinations that one block may have while it is compiled, once rules have been asked."""

MAX_TRIED = 20_000_000
"""Most combinations that rules are asked about when one more knob joins a block: some seconds."""

_TOGETHER = 1 << 18
"""Combinations that are formed at once, and asked about before the next ones are."""

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Knobs whose values multiply to *equals*, in every design in which they have a meaning."""

    names: tuple[str, ...]
    equals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules that join knobs.

    Attributes:
        products: Product groups.
        require: Rules that every design keeps.
        when: For a conditional knob, the rule under which it has a meaning.
        fixed: Values of the run that rules may name.
        ties: Knobs that belong together for other reasons.
    """

    products: tuple[Product, ...]
    require: tuple[Expression, ...]
    when: Mapping[str, Expression]
    fixed: Mapping[str, Value]
    ties: tuple[tuple[str, ...], ...] = ()


def components(names: Sequence[str], rules: Rules) -> list[tuple[str, ...]]:
    """Groups of knobs that rules tie together, in the order of their first knob."""
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    ties = [list(product.names) for product in rules.products]
    ties += [list(rule.names) for rule in rules.require]
    ties += [[name, *rule.names] for name, rule in rules.when.items()]
    ties += [list(names) for names in rules.ties]
    for tie in ties:
        known = [name for name in tie if name in leader]
        for name in known[1:]:
            first, second = find(known[0]), find(name)
            if first != second:
                leader[second] = first
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(find(name), []).append(name)
    return [tuple(group) for group in groups.values()]


def compile_block(
    names: Sequence[str], parameters: Mapping[str, Parameter], rules: Rules, active: frozenset[str]
) -> Codes:
    """All valid combinations of the knobs of one block.

    Args:
        names: The knobs of the block; columns of the result.
        parameters: All knobs of the space, by name.
        rules: All rules of the space.
        active: The knobs whose network dimension exists.

    Returns:
        ``(rows, len(names))`` int32: positions in the lists of choices; -1 where the knob has no
        meaning.

    Raises:
        ConfigError: More than ``MAX_ROWS`` combinations, or none at all.
    """
    table = _Table(parameters=parameters, rules=rules)
    present = [name for name in names if name in active]
    for product in rules.products:
        members = [name for name in product.names if name in present]
        if members:
            table.join(members, _factorisations(members, parameters, product.equals))
    pending = [name for name in present if name not in table.names]
    while pending:
        ready = [name for name in pending if table.can_take(name, pending)]
        if not ready:
            rule = "conditions (when:) must not depend on each other in a circle"
            raise ConfigError("space.axes", rule, got=", ".join(pending))
        table.take(ready[0])
        pending.remove(ready[0])
    if table.rows == 0:
        tied = ", ".join(present)
        raise ConfigError("space", f"at least one combination of {tied} must keep all rules", got=0)
    return table.codes_of(names)


class _Table:
    """Valid combinations of the knobs joined so far."""

    def __init__(self, *, parameters: Mapping[str, Parameter], rules: Rules) -> None:
        self.parameters, self.rules = parameters, rules
        self.names: list[str] = []
        self.codes: Codes = np.zeros((1, 0), dtype=np.int32)
        self.left = list(rules.require)

    @property
    def rows(self) -> int:
        return int(self.codes.shape[0])

    def can_take(self, name: str, pending: Sequence[str]) -> bool:
        condition = self.rules.when.get(name)
        return condition is None or not any(n in pending and n != name for n in condition.names)

    def take(self, name: str) -> None:
        """Join one axis with all that is there."""
        choices = len(self.parameters[name].choices)
        column = np.arange(choices, dtype=np.int32)[:, None]
        condition = self.rules.when.get(name)
        if condition is None:
            self.join([name], column)
            return
        meant = self._truth(condition, inactive=False)
        off, on = self.codes[~meant], self.codes[meant]
        missing = np.full((1, 1), -1, dtype=np.int32)
        self._extend([name], [(on, column), (off, missing)])

    def join(self, names: Sequence[str], codes: Codes) -> None:
        """Join a table of other knobs with all that is there."""
        self._extend(names, [(self.codes, codes)])

    def _extend(self, names: Sequence[str], parts: Sequence[tuple[Codes, Codes]]) -> None:
        """Combine the rows of each pair in *parts*, some at a time: the whole is never formed."""
        self._check_size(sum(left.shape[0] * right.shape[0] for left, right in parts), names)
        known = {*self.names, *names, *self.rules.fixed}
        ready = [rule for rule in self.left if known.issuperset(rule.names)]
        self.left = [rule for rule in self.left if rule not in ready]
        self.names.extend(names)
        kept, rows = [np.zeros((0, len(self.names)), np.int32)], 0
        for left, right in parts:
            step = max(1, _TOGETHER // max(right.shape[0], 1))
            for first in range(0, left.shape[0], step):
                self.codes = _cross(left[first : first + step], right)
                for rule in ready:
                    self.codes = self.codes[self._truth(rule, inactive=True)]
                kept.append(self.codes)
                rows += self.rows
                if rows > MAX_ROWS:
                    raise self._too_many(rows, ())
        self.codes = np.concatenate(kept)

    def codes_of(self, names: Sequence[str]) -> Codes:
        """The table with its columns in the order of *names*; -1 for a knob that is not in it."""
        result = np.full((self.rows, len(names)), -1, dtype=np.int32)
        for column, name in enumerate(names):
            if name in self.names:
                result[:, column] = self.codes[:, self.names.index(name)]
        order = np.lexsort(result.T[::-1])
        return np.ascontiguousarray(result[order])

    def _truth(self, rule: Expression, *, inactive: bool) -> NDArray[np.bool_]:
        """Rows where *rule* holds; *inactive* where a knob of it has no meaning."""
        own = [name for name in rule.names if name in self.names]
        if any(name not in self.names and name not in self.rules.fixed for name in rule.names):
            return np.full(self.rows, inactive)
        codes = {name: self.codes[:, self.names.index(name)] for name in own}
        meant = np.ones(self.rows, dtype=bool)
        for code in codes.values():
            meant &= code >= 0
        columns = {name: self.parameters[name].column[code[meant]] for name, code in codes.items()}
        columns |= {
            name: column_of(self.rules.fixed[name]) for name in rule.names if name not in own
        }
        result = np.full(self.rows, inactive)
        result[meant] = rule.holds(columns, int(meant.sum()))
        return result

    def _check_size(self, rows: int, names: Sequence[str]) -> None:
        if rows > MAX_TRIED:
            raise self._too_many(rows, names)

    def _too_many(self, rows: int, names: Sequence[str]) -> ConfigError:
        tied = ", ".join([*self.names, *names])
        most = f"{MAX_ROWS:,} combinations that keep them, of {MAX_TRIED:,} that are tried"
        return ConfigError(
            "space", f"rules may tie together knobs with at most {most} ({tied})", got=rows
        )


def _cross(left: Codes, right: Codes) -> Codes:
    first = np.repeat(left, right.shape[0], axis=0)
    second = np.tile(right, (left.shape[0], 1))
    return np.concatenate([first, second], axis=1)


def _factorisations(
    names: Sequence[str], parameters: Mapping[str, Parameter], product: int
) -> Codes:
    choices = [[int(value) for value in parameters[name].choices] for name in names]
    rows = list(_walk(choices, product, ()))
    return np.asarray(rows, dtype=np.int32).reshape(len(rows), len(names))


def _walk(
    choices: Sequence[Sequence[int]], left: int, codes: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Ways to write *left* as a product of one value from each list, as positions."""
    if not choices:
        if left == 1:
            yield codes
        return
    for code, value in enumerate(choices[0]):
        if left % value == 0:
            yield from _walk(choices[1:], left // value, (*codes, code))


def divisors(number: int, least: int = 1) -> tuple[int, ...]:
    """Divisors of *number* from *least* on, rising."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({d for s in small for d in (s, number // s) if d >= least}))
