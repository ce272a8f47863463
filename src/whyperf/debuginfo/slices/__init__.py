"""Backwards through optimised machine code: which instructions make a value, from what, and what decides."""
