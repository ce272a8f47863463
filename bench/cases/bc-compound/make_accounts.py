"""Accounts that grow day by day: what is left after years, with rates of few digits or of many."""

import sys
from pathlib import Path

ACCOUNTS, DAYS = 24, 1825


def script(digits: int) -> str:
    rates = (f"1.{(i % 9 + 1) * 10**digits // 10_000 + i:0{digits}d}" for i in range(ACCOUNTS))
    return "scale=20\n" + "".join(f"250.75*{rate}^{DAYS + i}\n" for i, rate in enumerate(rates)) + "quit\n"


def main() -> None:
    folder = Path(sys.argv[1])
    (folder / "few.bc").write_text(script(4))
    (folder / "many.bc").write_text(script(10))


if __name__ == "__main__":
    main()
