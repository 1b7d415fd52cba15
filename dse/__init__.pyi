from dse.proof import Effort as Effort  # provisional
from dse.proof import Proof as Proof  # provisional
from dse.proof import close_gap as close_gap  # provisional
from dse.results.result import StudyResult as StudyResult
from dse.results.result import load_study as load_study
from dse.run.api import check_study as check_study
from dse.run.api import enumerate_study as enumerate_study
from dse.run.api import run_study as run_study
from dse.study.compile import Study as Study
