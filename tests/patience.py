"""How long a test waits before it calls something a hang: far longer than anything takes on a machine with twenty jobs.

What takes too long is found by benchmarks, not by tests.
"""

PATIENCE_S = 900.0
