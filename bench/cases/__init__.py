"""Accuracy cases: a good and a bad command, the known cause, and its rank by whyperf and by other tools."""
