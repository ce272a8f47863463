"""perf.data, as `perf record` writes it: read by ourselves, sealed like a recording of our own."""

from whyperf.importers.perf_data.importing import import_perf_data

__all__ = ["import_perf_data"]
