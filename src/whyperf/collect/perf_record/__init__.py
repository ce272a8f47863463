"""Kernel events without BPF: `perf record` runs beside the target, and whoever starts it seals what it wrote."""

from whyperf.collect.perf_record.run import record_with_perf

__all__ = ["record_with_perf"]
