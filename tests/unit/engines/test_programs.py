"""The table of programs: what goes in comes out, and nodes that are shared are held once."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from engine_runs import collective, program, receive, send

from simcore.engines.events.joined import joined
from simcore.engines.events.programs import Program, Programs
from simcore.terms import CollectiveKind

COLUMNS = [field.name for field in fields(Program) if field.name != "name"]
CHAIN: list[dict[str, Any]] = [
    {"duration_ns": 7},
    {**collective(CollectiveKind.ALL_REDUCE, 4096, group=3), "dep": [0]},
    {**send(5, tag=9), "dep": [0, 1]},
    {"duration_ns": 2, "on_cpu": 1, "dep": [2]},
    {**receive(1), "dep": [0]},
    {"duration_ns": 3, "skipped": 1},
]


def same(one: Program, other: Program) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)


def as_table(program: Program) -> Program:
    """The defaults of nodes that do not communicate are the table's own."""
    quiet = ~np.isin(program.kind, (5, 6, 7))
    return replace(program, involved_dims=np.where(quiet, 0, program.involved_dims))


def programs() -> list[Program]:
    first = as_table(program(CHAIN))
    group = np.where(first.group == 3, 4, first.group)
    other = as_table(program([*CHAIN[:3], {"duration_ns": 2}]))
    return [first, replace(first, group=group), other, first]


def test_programs_come_out_of_the_table_as_they_went_in() -> None:
    given = programs()
    table = joined(given)
    assert len(table) == 4
    assert all(same(one, other) for one, other in zip(table, given, strict=True))
    with pytest.raises(IndexError):
        table[4]


def test_nodes_that_programs_share_are_held_once() -> None:
    table = joined(programs())
    assert table.body_of.tolist() == [0, 0, 1, 0]
    assert table.bodies.kind.size == 6 + 4
    assert table.transfers.group.tolist() == [3, 0, 0, 4, 0, 0, 3, 0, 3, 0, 0]


def test_some_programs_of_a_table_are_a_table() -> None:
    given = programs()
    some = joined(given).take(np.array([2, 1]))
    assert isinstance(some, Programs)
    assert [same(one, other) for one, other in zip(some, (given[2], given[1]), strict=True)] == [
        True,
        True,
    ]
    assert joined(given).take(np.array([2])).bodies.kind.size == 4


def test_groups_are_counted_per_program() -> None:
    owner, group, pair_of = joined(programs()).groups()
    assert owner.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert group.tolist() == [0, 3, 0, 4, 0, 3, 0, 3]
    assert pair_of.tolist() == [1, 0, 0, 3, 2, 2, 5, 4, 7, 6, 6]
