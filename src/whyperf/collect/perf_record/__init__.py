"""Kernel events without BPF: `perf record` runs beside the target, and whoever starts it seals what it wrote."""
