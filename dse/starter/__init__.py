"""A study file from a few answers: model, machine, number of NPUs, objective."""
