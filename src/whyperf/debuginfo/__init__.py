"""What a binary says: functions, inlining, lines, basic blocks."""

from whyperf.debuginfo.binary import Binary, Functions
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.perf_map import PerfMap, read_perf_map
from whyperf.debuginfo.places import Places

__all__ = ["Binary", "Functions", "PerfMap", "Places", "describe", "read_perf_map"]
