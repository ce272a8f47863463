"""Plans are tried where calls are counted, too."""

from tests.collect.counts.conftest import machine

__all__ = ["machine"]
