"""Running a study: the search loop, its workers and store, refinement and the cache."""
