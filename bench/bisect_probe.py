"""The command that `python -m bench.bisect` gives to `git bisect run`: THRESHOLD REQUESTS."""

import sys

from bench.bisect import probe

if __name__ == "__main__":
    raise SystemExit(probe(float(sys.argv[1]), sys.argv[2]))
