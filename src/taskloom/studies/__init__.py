"""Declared grids of work: what is to be run, what was run, and the ledger that loses nothing."""
