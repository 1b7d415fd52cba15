"""Predicts measured load tests of inference engines, row by row."""
