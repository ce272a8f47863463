"""The recording format's version, apart from the tables so that a recorder need not load the columnar library."""

FORMAT_VERSION = 1
