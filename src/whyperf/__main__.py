"""`python -m whyperf`."""

import sys

from whyperf.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
