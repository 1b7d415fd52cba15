"""Closed forms of training time, as cheap as arithmetic and as coarse: no predictions."""
