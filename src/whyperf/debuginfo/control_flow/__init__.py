"""The flow of control in a function: which branch decides about a place, and which calls certainly happen."""
