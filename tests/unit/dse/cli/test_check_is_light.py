"""``dse check`` imports no more than it needs: it is run after every edit of a study."""

import subprocess
import sys

import pytest

from simcore import shipped_folder

HEAVY = ("numba", "llvmlite", "scipy", "pandas", "pyarrow", "optuna", "ray", "plotly", "torch")
LOADED = """
import sys
from dse.cli import main
main(["check", sys.argv[1]], standalone_mode=False)
own = [name for name in sys.modules if name.partition(".")[0] in ("simcore", "dse")]
print("loaded", len(own), *sorted(set(sys.modules) & set(sys.argv[2:])))
"""
# one of each evaluator and cost model that is shipped, and one whose network is a graph
STUDIES = ("llm_gpt", "p1_cosmic_1024", "p5_vit22b_64", "serve_llama3_70b", "roce_or_infiniband")


def loaded(study: str) -> list[str]:
    """Number of own modules, then names of heavy packages, that a check of *study* imports."""
    file = str(shipped_folder("studies") / f"{study}.yaml")
    command = [sys.executable, "-c", LOADED, file, *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("study", STUDIES)
def test_a_check_imports_neither_a_compiler_nor_what_searches_stores_or_draws(study: str) -> None:
    if study == "roce_or_infiniband":
        loaded(study)  # the levels of a network are found once, and kept
    own, *heavy = loaded(study)
    assert heavy == []
    assert int(own) < 300, "of some 1,000 modules; a quarter of a second per hundred"
