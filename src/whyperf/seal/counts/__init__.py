"""Sealing counts of calls."""
