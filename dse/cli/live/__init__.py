"""Studies looked at while they run: in the terminal, in a page, in Optuna's dashboard."""
