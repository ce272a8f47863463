"""RESULTS.md, made of figures.toml.

python -m bench.results            # print the page
python -m bench.results --write    # write it
"""

from __future__ import annotations

import argparse
import tomllib
from typing import Any

from bench.cache import BENCH

PAGE = BENCH / "RESULTS.md"
FIGURES = BENCH / "figures.toml"
_HEAD = """# Results

Made of [figures.toml](figures.toml) by `python -m bench.results --write`. Each figure has its command and day; the
pages in [history](history) have the tables, the machine's load and what was tried.
"""


def page() -> str:
    told = tomllib.loads(FIGURES.read_text())
    return "\n".join([_HEAD, *(_section(one) for one in told["section"])])


def _section(told: dict[str, Any]) -> str:
    parts = [f"## {told['title']}\n"]
    if "text" in told:
        parts.append(f"{told['text'].strip()}\n")
    if "figure" in told:
        columns = [*told["columns"], "command", "day"]
        parts += [_row(columns), _row(["---"] * len(columns))]
        parts += [_row([*one["row"], f"`{one['command']}`", _day(one)]) for one in told["figure"]]
        parts.append("")
    return "\n".join(parts)


def _day(figure: dict[str, Any]) -> str:
    return f"[{figure['date']}](history/{figure['details']})"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    if args.write:
        PAGE.write_text(page())
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
