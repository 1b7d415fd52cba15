"""The page of a study: its data, its sections, and what draws them in a browser."""
