"""The recording format's version, apart from the tables so that a recorder need not load the columnar library."""

FORMAT_VERSION = 2
PEAK_MEMORY_VERSION = 2
"""From here on deep recordings count memory up to its peak; before, up to the end."""
