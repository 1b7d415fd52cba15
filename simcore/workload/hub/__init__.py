"""Counts of language models from their ``config.json`` of Hugging Face."""
