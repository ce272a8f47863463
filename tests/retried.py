"""Tests that are tried once more when they fail, each with the reason: other jobs on the machine disturb them.

Every other failure counts, also on a busy machine. This list only gets shorter.
"""

RETRIED: dict[str, str] = {}
