"""`whyperf bisect` on releases of two projects, between which a known regression came in.

Each release that the Python index has becomes a commit with a tag. Nothing but the registry is asked.

zstd 1.5.0 (carried by zstandard 0.16.0): a context that is used again has its tables cleared for every message, since
ZSTD_cwksp_* forgets that they are clean. Pull request 2969 mended it in 1.5.2. Its issue, 2966, was reported of 1.5.1;
this program, timed directly, is slow since 1.5.0.

multidict 6.5 (the index has 6.5.1): a hash table instead of a list; adding many values under one key became slower with
every value (pull request 1466 mended it in 7.0), since each insert probes past all values before.

    python -m bench.bisect_real [zstd | multidict] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cache import BENCH, cache_folder
from bench.histories import releases
from bench.tool import whyperf_command

_CASES = BENCH / "cases"


@dataclass(frozen=True)
class Project:
    distribution: str
    versions: tuple[str, ...]  # the first is fast, the last slow
    slow_since: str
    build: str
    command: tuple[str, ...]
    functions: frozenset[str]  # whose lines the regression is in, or that it is spent in


PROJECTS = {
    "zstd": Project(
        "zstandard",
        ("0.15.0", "0.15.1", "0.15.2", "0.16.0", "0.17.0"),
        slow_since="0.16.0",
        build=f"cc -g -O2 -DZSTD_MULTITHREAD -Izstd -o messages {_CASES}/zstd-reuse/messages.c "
        "$(if [ -e zstd/zstdlib.c ]; then echo zstd/zstdlib.c; else find zstd -name '*.c'; fi) -pthread",
        command=("./messages", "12000", "5"),
        functions=frozenset({"ZSTD_cwksp_internal_advance_phase", "ZSTD_cwksp_clean_tables", "ZSTD_reset_matchState",
                             "ZSTD_resetCCtx_internal", "ZSTD_cwksp_mark_tables_dirty"}),
    ),
    "multidict": Project(
        "multidict",
        ("6.0.5", "6.1.0", "6.2.0", "6.4.2", "6.4.3", "6.4.4", "6.5.1", "6.6.2", "6.6.3", "6.6.4", "6.7.0", "6.7.1"),
        slow_since="6.5.1",
        build=f"CFLAGS='-g -O2' {sys.executable} setup.py -q build_ext --inplace",
        command=(sys.executable, f"{_CASES}/multidict-same-key/forms.py", ".", "same", "60"),
        functions=frozenset({"htkeys_find_empty_slot", "htkeys_build_indices", "_md_add", "_md_add_with_hash",
                             "_md_add_with_hash_steal_refs", "_md_add_for_upd"}),
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="*", help=f"of {', '.join(PROJECTS)} (default: both)")
    parser.add_argument("--keep", type=Path, help="keep the repositories and recordings in this folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whyperf-bisect-") as scratch:
        for name in args.projects or PROJECTS:
            _bisect(PROJECTS[name], (args.keep or Path(scratch)) / name)


def _bisect(project: Project, folder: Path) -> None:
    history = releases(folder / "project", project.distribution, project.versions)
    truth = history.git("rev-parse", f"{project.slow_since}^{{commit}}")
    began, answer = time.monotonic(), folder / "found.json"
    command = [
        *whyperf_command(), "bisect", "--good", project.versions[0], "--bad", project.versions[-1],
        "--build", project.build, "--json", str(answer), "-o", str(folder / "recordings"), "--force",
        "--", *project.command,
    ]  # fmt: skip
    environment = os.environ | {"XDG_CACHE_HOME": str(cache_folder() / "revisions")}
    done = subprocess.run(command, cwd=history.folder, env=environment, capture_output=True, text=True, check=False)
    if not answer.exists():
        print(f"{project.distribution}: ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
        return
    said = json.loads(answer.read_text())
    if "first_slow" not in said:
        print(f"{project.distribution}: the ends are not told apart: {said['symptom']['sentence']}")
        return
    named = [one["commit"] for one in said["first_slow"]]
    print(f"{project.distribution}, {len(project.versions)} releases, slow since {project.slow_since}:")
    mark = "right" if named == [truth] else "among them" if truth in named else "WRONG"
    print(f"  commit {mark}: {', '.join(one['subject'] for one in said['first_slow'])}, {said['probability']:.1%}")
    print(f"  {len(said['comparisons'])} comparisons, {said['runs']} runs, {time.monotonic() - began:.0f} s")
    for one in said["skipped"]:
        print(f"  skipped {one['commit'][:10]}: {one['why'][:160]}")
    _print_verdict(said["verdict"], project)


def _print_verdict(verdict: dict[str, Any] | None, project: Project) -> None:
    if verdict is None:
        return
    print(f"  {verdict['symptom']['sentence']}")
    for suspect in verdict["suspects"][:5]:
        mark = "*" if suspect["function"] in project.functions else " "
        commits = ", ".join(f"{one['subject']} ({one['function']})" for one in suspect["commits"]) or "-"
        where = f"{suspect['function']} {suspect['file']}:{suspect['line']}"
        print(f"  {mark} {suspect['rank']} {where}  changed by {commits}")
        for hunk in (suspect["change"] or {"hunks": []})["hunks"][:2]:
            for line in hunk:
                sign = {"good": "-", "bad": "+", "both": " "}[line["build"]]
                print(f"        {sign} {line['line']} {line['text'].rstrip()[:100]}")


if __name__ == "__main__":
    main()
