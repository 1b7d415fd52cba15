"""Proofs in parts, and what is put together from them."""
