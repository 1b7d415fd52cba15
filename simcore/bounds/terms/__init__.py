"""Parts of the terms of plans: what tells stages apart, and rows of the tables of kernels."""
