"""Collectives and messages of NPUs that stay in step, on links that they load all at once."""
