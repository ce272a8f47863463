"""How 64-bit ARM code is changed so that it counts."""

from whyperf.debuginfo.probes.aarch64.planner import planned

__all__ = ["planned"]
