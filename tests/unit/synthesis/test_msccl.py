"""MSCCL programs: run step by step they do what their collective asks for, and damage is found."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError, SimulationError
from simcore.synthesis.fabric import Fabric, fabric_of_table
from simcore.synthesis.kinds import ALL_REDUCE, KINDS, REDUCE_SCATTER
from simcore.synthesis.msccl import msccl_text
from simcore.synthesis.msccl_check import check_program, program_of, read_msccl
from simcore.synthesis.synthesise import synthesise

RING = [[npu, (npu + step) % 4, "1", 1] for npu in range(4) for step in (1, 3)]
STAR = [[npu, 4, "1", 1] for npu in range(4)] + [[4, npu, "1", 1] for npu in range(4)]


def _fabric(links: list[list[object]], nodes: int, **more: bool) -> Fabric:
    table = {"npus": 4, "nodes": nodes, "links": links, "links_cols": ["a", "b", "rate", "latency"]}
    return fabric_of_table({**table, **more}).without_latency()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("links", "nodes"), [(RING, 4), (STAR, 5)])
def test_programs_read_back_do_what_their_collective_asks_for(
    kind: str, links: list[list[object]], nodes: int
) -> None:
    schedule = synthesise(_fabric(links, nodes), kind, chunks=2).schedule
    program = program_of(msccl_text(schedule))
    check_program(program)
    sends = [step for gpu in program.gpus for block in gpu for step in block.steps]
    flights = len(set(schedule.flight.tolist()))
    assert sum(step.kind == "s" for step in sends) == flights
    assert sum(step.kind in ("r", "rrc") for step in sends) == flights


def test_a_program_that_loses_doubles_or_waits_is_found() -> None:
    text = msccl_text(synthesise(_fabric(RING, 4), REDUCE_SCATTER, chunks=2).schedule)
    with pytest.raises(SimulationError, match="must end with its chunks"):
        check_program(program_of(text.replace('type="rrc"', 'type="r"')))
    lines = text.splitlines()
    send = next(at for at, line in enumerate(lines) if 'type="s"' in line)
    with pytest.raises(SimulationError, match=r"wait for ever|is empty|count once"):
        check_program(program_of("\n".join(lines[:send] + lines[send + 1 :])))
    doubled = "\n".join([*lines[: send + 1], *lines[send:]])
    with pytest.raises(SimulationError, match=r"count once|must end|wait for ever|is empty"):
        check_program(program_of(doubled))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('coll="allreduce"', 'coll="scan"', "must be one of allgather"),
        ('srcbuf="i"', 'srcbuf="x"', "must be one of i, o, s"),
        ('cnt="1"', 'cnt="one"', "must be a whole number"),
        ("</algo>", "", "well-formed"),
        ('ngpus="4"', 'ngpus="5"', "a gpu per GPU"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_place(old: str, new: str, rule: str) -> None:
    text = msccl_text(synthesise(_fabric(RING, 4), ALL_REDUCE, chunks=1).schedule)
    with pytest.raises(ConfigError, match=rule):
        program_of(text.replace(old, new))


def test_switches_that_reduce_cannot_be_said() -> None:
    able = _fabric(STAR, 5, switch_copies=True, switch_reduces=True)
    schedule = synthesise(able, ALL_REDUCE, chunks=1).schedule
    with pytest.raises(ConfigError, match="no switch that copies or reduces"):
        msccl_text(schedule)


def test_the_command_writes_xml_by_its_suffix(tmp_path: Path) -> None:
    graph, out = tmp_path / "ring.yaml", tmp_path / "schedule.xml"
    graph.write_text("family: ring\nparams: {n: 4}\nbandwidth: 1 GB/s\nlatency: 1 us\n")
    asked = ["synthesise", str(graph), "--collective", "all_gather", "--out", str(out)]
    assert CliRunner().invoke(cli, asked).exit_code == 0
    check_program(read_msccl(out))
