"""The study as data: its file, what it compiles to, levels, scenarios and trials."""
