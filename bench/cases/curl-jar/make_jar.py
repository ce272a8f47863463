"""A jar of cookies that last until the browser is closed."""

import sys
from pathlib import Path

lines = (
    f"www.shop{number % 400}.org\tFALSE\t/\tFALSE\t0\tsession{number}\t{number * 7919:x}\n" for number in range(1500)
)
(Path(sys.argv[1]) / "cookies").write_text("# Netscape HTTP Cookie File\n" + "".join(lines))
