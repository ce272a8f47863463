"""perf.data, as `perf record` writes it: read by ourselves, sealed like a recording of our own."""
