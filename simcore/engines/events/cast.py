"""NPUs that a run simulates, and those for which each stands."""

from dataclasses import dataclass

import numpy as np

from simcore.engines.events.input import EngineInput, Ints
from simcore.engines.events.programs import Programs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cast:
    """The NPUs that are simulated; the first NPU of each class stands for all of it.

    Attributes:
        class_of_npu: (N,) int64, class of each NPU of the machine.
        npus: (K,) int64, per class the NPU that stands for it.
        programs: What these run.
        seen: Their sends as the stand-ins of the receivers await them: (C,) int64 tags and (C,)
            int64 senders, in the order of ``programs.transfers``.
        program_of: (K,) int64, index into ``programs``.
        slots: Per program of the input, the keys of its list groups; programs of one class have
            corresponding groups at one place. Empty where nobody stands for others.
    """

    class_of_npu: Ints
    npus: Ints
    programs: Programs
    program_of: Ints
    seen: tuple[Ints, Ints]
    slots: tuple[tuple[int, ...], ...] = ()

    @property
    def folded(self) -> bool:
        """Whether an NPU stands for others."""
        return self.npus.size < self.class_of_npu.size

    @property
    def alike(self) -> Ints:
        """(K,) int64, NPUs of each class."""
        return np.bincount(self.class_of_npu, minlength=self.npus.size)


def everybody(inputs: EngineInput) -> Cast:
    """Each NPU is simulated and stands for itself."""
    npus = np.arange(inputs.program_of_npu.size)
    nothing = np.zeros(inputs.table.transfers.at.size, np.int64)
    return Cast(
        class_of_npu=npus,
        npus=npus,
        programs=inputs.table,
        program_of=inputs.program_of_npu,
        seen=(nothing, nothing),
    )
