"""Sealed recordings: reading them without trust, writing them, and their manifest."""
