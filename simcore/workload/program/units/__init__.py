"""The units of a stage's schedule: which there are, their order and their pieces."""
