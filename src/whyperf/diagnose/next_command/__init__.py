"""The next command to type."""
