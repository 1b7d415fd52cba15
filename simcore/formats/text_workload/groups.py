"""The NPU groups over which a text workload's collectives run."""

from dataclasses import dataclass

from simcore.errors import ConfigError
from simcore.formats.text_workload.layers import TextWorkload

EVERYONE = "all"


MODEL, DATA, EXPERT, EXPERT_DATA = "model", "data", "expert", "expert_data"


SUFFIXES = (("_DP_EP", EXPERT_DATA), ("_EP", EXPERT))
"""Endings of collective words in SimAI's dialect, and the groups that they mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuGroups:
    """Groups of NPUs: of one model, of its copies, of its experts and of their copies.

    Model groups are consecutive NPUs; copies of one NPU are a model group's size apart.

    Attributes:
        npus: NPUs in all.
        model: NPUs that hold one model.
        expert: Copies among which experts are spread.
    """

    npus: int
    model: int = 1
    expert: int = 1

    def members(self) -> dict[str, list[tuple[int, ...]]]:
        """All groups of each kind; a kind in which everyone is one group is ``all``'s."""
        model, expert = self.model, self.expert
        copies = self.npus // model
        return {
            MODEL: [tuple(range(b, b + model)) for b in range(0, self.npus, model)],
            DATA: [tuple(range(b, self.npus, model)) for b in range(model)],
            EXPERT: [
                tuple(range(b + model * expert * e, b + model * expert * (e + 1), model))
                for e in range(copies // expert)
                for b in range(model)
            ],
            EXPERT_DATA: [
                tuple(range(b, self.npus, model * expert)) for b in range(model * expert)
            ],
        }


def groups_of(workload: TextWorkload, npus: int) -> NpuGroups:
    """The groups that line 1 of *workload* describes, on *npus* NPUs.

    Raises:
        ConfigError: They do not divide the NPUs, or stages of a pipeline are asked for.
    """
    place = f"{workload.path} line 1"
    model = workload.option("model_parallel_NPU_group", npus)
    expert = workload.option("ep", 1)
    if workload.option("pp", 1) > 1:
        raise ConfigError(f"{place} pp", "must be 1 (one trace for all NPUs)", got="more stages")
    if model < 1 or npus % model:
        raise ConfigError(f"{place} model_parallel_NPU_group", f"must divide {npus}", got=model)
    if expert < 1 or (npus // model) % expert:
        raise ConfigError(f"{place} ep", f"must divide {npus // model} copies", got=expert)
    return NpuGroups(npus=npus, model=model, expert=expert)
