"""Which relation of a symptom changed, and which of these changes is no effect of another."""
