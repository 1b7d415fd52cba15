"""Proposers of designs: the `design` search, and Optuna's samplers over valid encodings."""
