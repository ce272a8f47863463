"""Basic blocks of a function and its loops, from machine code."""
