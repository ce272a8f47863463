"""The version, for all who name it in what they write."""

__version__ = "0.1.0"
