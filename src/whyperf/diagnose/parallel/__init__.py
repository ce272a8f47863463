"""The work of a comparison, done by other processes or machines."""
