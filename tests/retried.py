"""Tests that are tried up to three times more, each with the reason: other jobs on the machine disturb them.

Every other failure counts, also on a busy machine. This list only gets shorter.
"""

RETRIED: dict[str, str] = {}
