"""Kernel events without BPF: `perf record` runs beside the target, and what it wrote is imported when all is over."""

from whyperf.importers.perf_record.run import record_with_perf

__all__ = ["record_with_perf"]
