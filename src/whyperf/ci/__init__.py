"""A change's base and head compared for a project's benchmarks: what `whyperf ci` runs, decides and writes."""
