"""whyperf tells why one run of a program is slower than another."""

__version__ = "0.1.0"
