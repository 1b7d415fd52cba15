"""Run files: one workload, plan, platform and system layer, ready to simulate."""

from simcore.config.paths import get_path, parse_path, set_path
from simcore.config.run import Run
from simcore.config.template import RunTemplate, load_run

__all__ = ["Run", "RunTemplate", "get_path", "load_run", "parse_path", "set_path"]
