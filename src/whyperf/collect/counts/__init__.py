"""Counting runs: plans for what a program is made of, and what its processes counted."""
