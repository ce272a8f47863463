"""The built-in slow program of `whyperf demo`, as source."""
