"""The Optuna storage of a running study: its trials are the rows that the store is written from."""

from collections.abc import Sequence

from optuna.trial import FrozenTrial

from dse.samplers.storage import TrialStorage
from dse.store.frozen import FrozenRows
from dse.study.compile import Study
from dse.study.trials import Trial


class LiveStorage(TrialStorage):
    """Trials of the study, open ones as Optuna made them, finished ones from their rows.

    Rows are written in batches by the store's one writer as they come in; nothing is written here,
    and nothing held twice. Where the sampler learns from trials as it sees them (genes in place of
    knobs), these are kept as well (``keeps_finished``).

    Attributes:
        rows: Of the study, in ask order: row i is trial i.
    """

    def __init__(self, study: Study) -> None:
        super().__init__()
        self.keeps_finished = False
        self.rows: Sequence[Trial] = ()
        self._frozen = FrozenRows(study)

    def finished_trial(self, number: int) -> FrozenTrial:
        trial_id = self._ids[number]
        return self._frozen.trial(self.rows[number], number, trial_id, None)
