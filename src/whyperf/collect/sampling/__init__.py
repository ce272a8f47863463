"""Sampling: the recorder's side, and what the target finds beside its rings."""
