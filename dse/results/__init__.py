"""The outcome of a study: its front, summary, failures and notes."""
