"""Observed runs: what a program holds at chosen instructions, who writes to chosen addresses, and values forced."""
