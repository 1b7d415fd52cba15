"""Beliefs of the search about designs: quantities to guess, and the models that guess them."""
