"""Studies as those of Optuna: for optuna-dashboard, and for its plots."""
