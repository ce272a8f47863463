"""The case book: a good and a bad command each, and the known cause."""
