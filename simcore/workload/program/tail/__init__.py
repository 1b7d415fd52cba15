"""The end of an iteration on one stage: sums of gradients that are left, and the optimizer."""
