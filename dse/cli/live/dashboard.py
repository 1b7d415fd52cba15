"""``dse dashboard``: optuna-dashboard on the store of a study, while it runs or later."""

import importlib.util
from pathlib import Path

from dse.cli.live.web import Application, read_only, serve
from dse.report.optuna.storage import StoredStudy
from simcore import ConfigError


def dashboard_command(folder: Path, *, host: str, port: int) -> None:
    """``dse dashboard``; serves until it is interrupted."""
    if importlib.util.find_spec("optuna_dashboard") is None:
        rule = "dashboard needs the package of simcore-dse[dashboard]"
        raise ConfigError("dse", rule, got="no optuna-dashboard")
    serve(read_only(dashboard_of(folder)), host=host, port=port)


def dashboard_of(folder: Path) -> Application:
    """The pages of the study in *folder*."""
    from optuna_dashboard import wsgi

    found: Application = wsgi(StoredStudy(folder))
    return found
