"""Start a target and record it."""
