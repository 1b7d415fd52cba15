"""The proof beside the search of a study, and the gap that its summary tells."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dse.evaluate import Evaluator, build_evaluator
from dse.fidelity.compare import refined_rows, searched_rows
from dse.proof.designs import check_visits_all, why_unproven
from dse.proof.parts.joint import JointProof
from dse.proof.proposer import ProvingProposer
from dse.proof.prove import Proof, Reached
from dse.proof.provers import prover_of
from dse.proof.told import no_gap, open_gap, proven_gap
from dse.results.summary import study_front, tally_of
from dse.samplers.base import Proposer
from dse.space import Design
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import plain_sum

_COVERED = 0.25
"""Share of the gap of the hypervolume that designs set aside in one objective may make up: a front
has room between its points, which takes the rest."""

_AT_ONCE = 16
"""Designs that a proof at the finest level asks for together."""

_EVERY = 64
"""Looks at a proof between two that work out its hypervolume, which takes as long as a proposal."""


def told_gap(study: Study) -> float | None:
    """Share of each objective within which a proof leaves designs out; None: no proof is asked."""
    search = study.file.search
    if search.gap is None and search.hypervolume_gap is not None:
        return _COVERED * search.hypervolume_gap
    return search.gap


def proven_share(study: Study) -> float | None:
    """Share as of ``told_gap`` that a proof beside the search of *study* is to close.

    None where nothing is asked, or nothing can be proven but by a visit to every design.
    """
    gap = told_gap(study)
    return None if gap is None or why_unproven(study) else gap


class StudyProof:
    """The proof beside the search of a study: one, or as many parts as there are islands."""

    def __init__(
        self,
        study: Study,
        gap: float,
        evaluator: Evaluator,
        rows: Callable[[], Sequence[Trial]],
    ) -> None:
        """*gap* and *evaluator*: as of ``prover_of``; *rows*: gives the trials so far."""
        islands = study.file.search.islands
        self._study, self._rows = study, rows
        self._joint = JointProof(study.goals.signs_by_name, islands) if islands > 1 else None
        self._prover = prover_of(study, evaluator, gap)  # of the end, where islands prove before it
        self._looks = 0
        self._is_front_reached = False

    def beside(self, sampler: Proposer[Any]) -> Proposer[Any]:
        """*sampler* and the proof by turns; where islands prove, behind what they have found."""
        follows = self._joint is not None
        return ProvingProposer(sampler, self._prover, self._is_reached, follows=follows)

    def learn(self, trial: Trial) -> None:
        """The outcome of any trial."""
        self._prover.learn(trial.design, trial.evaluation)
        if self._joint is not None:
            self._joint.learn(trial.design, trial.evaluation)

    def take(self, reached: Mapping[int, Reached]) -> bool:
        """Note how far parts have come, by number; whether all that is asked for is proven."""
        assert self._joint is not None, "one proof is not put together"
        for number, of_it in reached.items():
            self._joint.take(number, of_it)
        return self._joint.is_closed or self._is_front_large()

    def proof(self) -> Proof:
        """Proof so far: of the islands or of the end, both of which hold, the closer one."""
        proofs = [self._prover.proof()]
        if self._joint is not None:
            proofs.append(self._joint.proof())
        return min(proofs, key=_openness)

    def _is_reached(self) -> bool:
        """True once the share that may be missing is small enough; seen now and then."""
        self._looks += 1
        return self._is_front_reached or (self._looks % _EVERY == 0 and self._is_front_large())

    def _is_front_large(self) -> bool:
        """True once as much of the hypervolume is found as the study asks for, and no more."""
        search, rows = self._study.file.search, self._rows()
        if search.gap is not None or search.hypervolume_gap is None or not rows:
            return False
        found = proven_gap(self.proof(), study_front(self._study, rows))
        self._is_front_reached |= is_front_proven(self._study, found)
        return self._is_front_reached


def _openness(proof: Proof) -> tuple[bool, float, list[float]]:
    """Key of the order of proofs from the closest to the widest one."""
    bounds = zip(proof.signs, proof.lower_bounds, strict=True)
    return not proof.is_closed, plain_sum(proof.gaps), [-sign * bound for sign, bound in bounds]


def study_proof(
    study: Study, evaluator: Evaluator, rows: Callable[[], Sequence[Trial]]
) -> StudyProof | None:
    """The proof that goes on beside the search of *study*; None: there is none."""
    gap = proven_share(study)
    return None if gap is None else StudyProof(study, gap, evaluator, rows)


def with_proof(study: Study, proof: StudyProof | None, sampler: Proposer[Any]) -> Proposer[Any]:
    """*sampler*, and the proof of the study if there is one, by turns.

    Raises:
        ConfigError: A gap is asked for that only a visit to every design proves, and the sampler
            does not visit all.
    """
    if proof is not None:
        return proof.beside(sampler)
    if told_gap(study) is not None:
        check_visits_all(study, sampler.is_complete)
    return sampler


class FinestProof:
    """The proof at the level of a study that decides, once its search is over.

    It knows what was judged there, and asks for more designs, as many at most as may be judged to
    settle the front.

    Attributes:
        judged: Number of designs that it has asked for.
    """

    def __init__(self, study: Study, gap: float) -> None:
        """*gap*: as of ``prover_of``."""
        self._study = study
        finest = study.judged_at(study.levels[-1])
        self._prover = prover_of(finest, build_evaluator(finest.evaluator_input), gap)
        self._learned, self._looks = set[int](), 0
        self.judged = 0

    def next(self, judged: Sequence[Trial], stopping: Callable[[], bool]) -> list[Design]:
        """Designs to be judged after *judged*, all of the finest level; none: it goes no further.

        It goes on until all that the study asks for is proven, it has asked for as many designs as
        it may, or *stopping*.
        """
        for row in judged:
            if row.number not in self._learned:
                self._learned.add(row.number)
                self._prover.learn(row.design, row.evaluation)
        wanted: list[Design] = []
        most = min(_AT_ONCE, self._study.file.search.settle - self.judged)
        while len(wanted) < most and not stopping():
            design = self._prover.ask()
            if design is not None:
                wanted.append(design)
            elif self._is_enough(judged) or not self._prover.advance():
                break
        self.judged += len(wanted)
        return wanted

    def _is_enough(self, judged: Sequence[Trial]) -> bool:
        """True once as much of the hypervolume is found as the study asks for; seen at times."""
        search = self._study.file.search
        self._looks += 1
        if search.gap is not None or self._looks % _EVERY:
            return False
        found = proven_gap(self.proof(), study_front(self._study, judged))
        return is_front_proven(self._study, found)

    def proof(self) -> Proof:
        """Proof so far."""
        return self._prover.proof()


def finest_proof(study: Study) -> FinestProof | None:
    """The proof at the finest level of *study*.

    None: no gap is asked for, none is proven there, or nothing may be judged for it.
    """
    gap = told_gap(study)
    if gap is None or not study.file.search.settle:
        return None
    if why_unproven(study.judged_at(study.levels[-1])):
        return None
    return FinestProof(study, gap)


def is_front_proven(study: Study, found: dict[str, Any]) -> bool:
    """True if the gap of the hypervolume in *found* is as small as *study* asks for."""
    asked, gap = study.file.search.hypervolume_gap, found["optimality_gap"]["hypervolume"]
    return asked is None or (gap is not None and gap <= asked)


def gap_summary(
    study: Study,
    rows: Sequence[Trial],
    proof: StudyProof | None,
    finest: FinestProof | None,
    *,
    is_whole: bool,
) -> dict[str, Any]:
    """Entries of ``summary.json`` about the gap; none where the study asks for none.

    Args:
        study: With its goals and levels.
        rows: All of its trials.
        proof: What has been proven at the first level; None: nothing.
        finest: What has been proven at the finest one; None: the gap is one of the first level.
        is_whole: Every design of the space has been evaluated at the first level.
    """
    searched = searched_rows(study, rows)
    tally, found = tally_of(study, searched), dict[str, Any]()
    if is_whole and not tally.failed:
        found = no_gap(tally.best)
    elif proof is not None:
        found = _closed(study, proven_gap(proof.proof(), study_front(study, searched)))
    elif told_gap(study) is not None:
        found = open_gap(study.goals.objectives)
    if not found or len(study.levels) < 2:
        return found
    found["gap_fidelity"] = study.levels[0]
    if finest is None:
        return found
    judged = refined_rows(rows, study.levels[-1])
    return {
        **_closed(study, proven_gap(finest.proof(), study_front(study, judged))),
        "gap_fidelity": study.levels[-1],
        "gap_judged": finest.judged,
        "searched_gap": found,
    }


def _closed(study: Study, found: dict[str, Any]) -> dict[str, Any]:
    """*found* with whether all that the study asks for is proven."""
    is_proven = is_front_proven(study, found)
    is_closed = is_proven and (study.file.search.gap is None or found["gap_closed"])
    return {**found, "gap_closed": is_closed}
