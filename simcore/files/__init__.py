"""The one door for files: text, YAML, JSON, and what is shipped."""
