"""How x86-64 code is changed so that it counts."""

from whyperf.debuginfo.probes.x86_64.planner import planned

__all__ = ["planned"]
