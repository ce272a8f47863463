"""Calls of one function as units of work, timed in the target."""
