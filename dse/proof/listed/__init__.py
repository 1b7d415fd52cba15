"""Proofs over a list of all designs, each bounded by its metrics at best."""
