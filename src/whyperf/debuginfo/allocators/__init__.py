"""Allocators inside a program's own files: which functions they are, and how their calls are sampled."""
