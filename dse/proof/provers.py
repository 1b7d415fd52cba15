"""The proof of a study, of the kind that its evaluator allows."""

from collections.abc import Callable

from dse.evaluate import Evaluator
from dse.proof.boxed.prover import BoxProver
from dse.proof.designs import check_provable
from dse.proof.listed.checks import is_listed
from dse.proof.listed.prover import ListProver
from dse.proof.parts.part import Part
from dse.proof.prove import Prover
from dse.space import Design
from dse.study.compile import Study


def prover_of(
    study: Study,
    evaluator: Evaluator,
    gap: float,
    part: Part | None = None,
    is_elsewhere: Callable[[Design], bool] = lambda design: False,
) -> Prover:
    """The proof that no design of *study* is much better than those that are found.

    Args:
        study: Gives the designs and the objectives.
        evaluator: Of the study. Of designs that provably have the same outcome, see
            ``Evaluator.canonical``, one is asked for once.
        gap: Share of the objectives' values; 0 for the exact answer.
        part: What is bounded, where others bound the rest; None: all.
        is_elsewhere: Whether the outcome of a design is known to whoever puts the parts
            together, so that it need not be asked for.

    Raises:
        ConfigError: Nothing is proven for an objective, a knob or the evaluator of the study.
    """
    check_provable(study)
    part = part or Part()
    if is_listed(study):
        return ListProver(study, evaluator, gap, is_elsewhere, part)
    return BoxProver(study, gap, evaluator.canonical, is_elsewhere, part)
