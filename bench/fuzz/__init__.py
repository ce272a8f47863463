"""A structure-aware fuzzer of everything that whyperf reads: recordings, raw logs, and files of other tools."""
