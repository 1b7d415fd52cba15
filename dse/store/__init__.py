"""The folder of a study: one SQLite file that is the truth, and files that are exports of it."""
