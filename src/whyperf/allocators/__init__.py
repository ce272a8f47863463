"""Functions that hand out memory: what they are called, and what their arguments mean."""
