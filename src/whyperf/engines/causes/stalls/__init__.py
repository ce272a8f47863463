"""Which waits and turns are out of the ordinary."""
