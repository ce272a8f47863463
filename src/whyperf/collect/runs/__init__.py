"""Runs: start the target or find it, watch it to its end, count its work."""
