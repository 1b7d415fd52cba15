from dse.costs import COSTS as COSTS
from dse.costs import Cost as Cost
from dse.costs import CostModel as CostModel
from dse.costs import PriceBook as PriceBook
from dse.evaluate import EVALUATORS as EVALUATORS  # provisional
from dse.evaluate import Evaluator as Evaluator  # provisional
from dse.evaluate import EvaluatorInput as EvaluatorInput  # provisional
from dse.evaluate.base import Account as Account  # provisional
from dse.evaluate.priced import MachineCosts as MachineCosts  # provisional
from dse.evaluate.simulator import SimulatorEvaluator as SimulatorEvaluator  # provisional
from dse.objectives import CONSTRAINTS as CONSTRAINTS  # provisional
from dse.objectives import OBJECTIVES as OBJECTIVES  # provisional
from dse.proof.close import Effort as Effort  # provisional
from dse.proof.close import close_gap as close_gap  # provisional
from dse.proof.prove import Proof as Proof  # provisional
from dse.report.optuna.storage import StoredStudy as StoredStudy  # provisional
from dse.results.result import StudyResult as StudyResult
from dse.results.result import load_study as load_study
from dse.run.api import check_study as check_study
from dse.run.api import enumerate_study as enumerate_study
from dse.run.api import run_study as run_study
from dse.samplers.base import Proposal as Proposal  # provisional
from dse.samplers.base import Proposer as Proposer  # provisional
from dse.samplers.base import ProposerInput as ProposerInput  # provisional
from dse.samplers.design_sampler import DesignSampler as DesignSampler  # provisional
from dse.samplers.registry import SAMPLERS as SAMPLERS  # provisional
from dse.space import Check as Check  # provisional
from dse.space import Design as Design  # provisional
from dse.study.compile import Study as Study
