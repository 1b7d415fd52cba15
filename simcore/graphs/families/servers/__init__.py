"""Servers whose NPUs are joined directly, and networks built around servers."""
