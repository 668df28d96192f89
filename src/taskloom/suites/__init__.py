"""Records and examples to suites of tasks, in memory and on disk."""
