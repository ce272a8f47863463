"""Pure functions from recordings to findings."""
