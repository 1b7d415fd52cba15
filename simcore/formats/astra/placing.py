"""The NPU of each rank of a run, where the command line moves ranks."""

from dataclasses import replace
from typing import TYPE_CHECKING

from simcore.engines.events.input import EngineInput
from simcore.errors import ConfigError
from simcore.network import BACKENDS

if TYPE_CHECKING:
    from simcore.placement import Floats

AT = "--placement"


def placed_input(
    text: str, inputs: EngineInput, *, own_topology: bool, notes: list[str]
) -> EngineInput:
    """The run with ranks where a placement puts them; as it is where messages do not meet.

    Args:
        text: The placement: as in a run file, in YAML's short form.
        inputs: The run with ranks as they are.
        own_topology: Whether links are those of a packet or flit simulator's own files, of which
            no distances are known.
        notes: Receives a sentence on what it does to links.

    Raises:
        ConfigError: There is no such placement, or ranks cannot be placed so.
        SimulationError: Ranks wait for each other for ever.
    """
    import numpy as np

    from simcore.engines.machine_times import outside_of  # few runs move ranks
    from simcore.engines.placed.links import PlacedLinks
    from simcore.engines.placed.measured import measured_traffic
    from simcore.engines.placed.place import place_ranks
    from simcore.network.settings import NetworkSettings
    from simcore.placement import Ranks
    from simcore.placement.choice import read_placement

    choice = read_placement(text, AT)
    npus, backend = inputs.program_of_npu.size, inputs.backend
    if not choice.moves:
        return inputs
    if own_topology:
        return replace(inputs, where=choice.place(Ranks(npus, _refuse, _refuse), AT))
    if not BACKENDS[backend].messages_meet:
        notes.append(
            f"{AT}: {choice.rule} is left out: with {backend} messages do not meet on links, so "
            "ranks are where their numbers say."
        )
        return inputs
    links = PlacedLinks(inputs.dimensions)
    placed = place_ranks(choice, measured_traffic(inputs), links, np.arange(npus), AT)
    notes.append(f"{placed.told()}.")
    made = outside_of(backend, inputs.dimensions, NetworkSettings(), apart=True)
    return replace(inputs, where=placed.where, network=inputs.network or made)


def _refuse() -> "Floats":
    rule = "must be listed or shuffled beside topology files of a packet or flit simulator"
    raise ConfigError(AT, rule, got="a rule that weighs traffic")
