"""Calls of a function that are timed: where it begins and ends in the code, and what is put there."""
