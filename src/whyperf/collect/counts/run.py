"""A counting run."""

from __future__ import annotations

from pathlib import Path

from whyperf.collect import _session

LIBRARY = Path(_session.__file__).parent / "libwhyperf_probes.so"
