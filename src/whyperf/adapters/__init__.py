"""Benchmarks of other frameworks: one of them is run alone, and its iterations are the units of work."""
