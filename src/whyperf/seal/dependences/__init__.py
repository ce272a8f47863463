"""Sealing what the Valgrind tool saw."""
