"""Sealing: from what was collected to the tables that engines read."""

from whyperf.seal.opening import open_recording, seal
from whyperf.seal.progress import Progress

__all__ = ["Progress", "open_recording", "seal"]
