"""Accuracy cases and speed benchmarks: whyperf beside the tools that people use today."""
