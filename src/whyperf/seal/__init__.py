"""Sealing: the last step of collecting, and the first of reading a recording whose recorder never got to it."""

from whyperf.seal.opening import Progress, open_recording, seal

__all__ = ["Progress", "open_recording", "seal"]
