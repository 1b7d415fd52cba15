"""Which NPUs a run simulates, and for which others they stand."""

from dataclasses import dataclass

import numpy as np

from simcore.system.engine_input import EngineInput, Ints, Program


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenSends:
    """A program's sends as the stand-ins of their receivers await them, per position.

    Attributes:
        tag: (T,) int64.
        source: (T,) int64, NPU ids.
    """

    tag: Ints
    source: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cast:
    """The NPUs that are simulated; the first NPU of each class stands for all of it.

    Attributes:
        class_of_npu: (N,) int64, class of each NPU of the machine.
        npus: (K,) int64, per class the NPU that stands for it.
        programs: What these run.
        program_of: (K,) int64, index into ``programs``.
        sends: Per program, its sends; None where it has none or nobody stands for others.
        slots: Per program of the input, the keys of its list groups; programs of one class have
            corresponding groups at one place. Empty where nobody stands for others.
    """

    class_of_npu: Ints
    npus: Ints
    programs: tuple[Program, ...]
    program_of: Ints
    sends: tuple[SeenSends | None, ...]
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
    return Cast(
        class_of_npu=npus,
        npus=npus,
        programs=inputs.programs,
        program_of=inputs.program_of_npu,
        sends=(None,) * len(inputs.programs),
    )
