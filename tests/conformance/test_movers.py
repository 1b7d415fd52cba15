"""Every kind of engine that moves data keeps its contract, and so does every accelerator's."""

from math import isinf
from pathlib import Path

import pytest
from outside_movers import Dpu, Nobody

from simcore import MOVERS, Mover, load_npu
from simcore.machine.movers import MOST_TAKEN

ROOT = Path(__file__).parents[2]
FACTS = {"cores": {"count": 8, "taken": 2}}
EVERY = [
    *((name, kind.from_file_data(FACTS.get(name, {}), at=name)) for name, kind in MOVERS.items()),
    ("nobody", Nobody()),
    ("dpu", Dpu()),
]
SHIPPED = sorted(path.stem for path in (ROOT / "configs" / "npus").glob("*.yaml"))


def _keeps_contract(mover: Mover) -> None:
    assert 0 <= mover.takes_cores <= MOST_TAKEN
    assert mover.moves_bytes_per_s >= 1e6
    assert not mover.reduces or mover.reduces_bytes_per_s >= 1e6
    for reducing in (False, True):
        assert 0 <= mover.memory_passes(reducing=reducing) <= 4


@pytest.mark.parametrize(("name", "mover"), EVERY)
def test_an_engine_takes_no_more_than_there_is_and_has_rates(name: str, mover: Mover) -> None:
    _keeps_contract(mover)
    assert isinf(mover.moves_bytes_per_s) or name == "dpu"  # without facts links are its limit


@pytest.mark.parametrize("name", MOVERS)
def test_the_docs_and_the_docstrings_tell_of_every_kind(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "simulator.md").read_text()
    assert MOVERS[name].__doc__


def test_engines_of_shipped_accelerators_keep_the_contract_and_name_their_sources() -> None:
    found = [mover for name in SHIPPED for mover in load_npu(name).movers.values()]
    assert len(found) >= 20
    for mover in found:
        _keeps_contract(mover)
        assert mover.source


def test_cores_of_a_shipped_accelerator_are_those_that_its_products_are_dealt_out_to() -> None:
    told = [load_npu(name) for name in SHIPPED if "cores" in load_npu(name).movers]
    for npu in told:
        dealt = npu.efficiency.processors
        if dealt and not npu.name.startswith("v100"):  # of V100 108 were fitted, there are 80
            assert npu.mover("cores").model_dump()["count"] == dealt
