"""Git repositories made for benchmarks: of a program that is written here, or of releases that a registry has."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.registries import python_source

_NOBODY = {
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "bench"), ("EMAIL", ""))
    },
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class History:
    """A repository that grows by whole trees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=os.environ | _NOBODY, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str]) -> str:
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, subject: str, tree: Path) -> str:
        """All files of a folder instead of those before."""
        for path in self.folder.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(tree, self.folder, dirs_exist_ok=True, symlinks=True)
        return self.commit(subject, {})


@dataclass(frozen=True)
class Planted:
    """A history with one commit that makes the program slower and one that does not build."""

    history: History
    slow: str
    unbuildable: str


def releases(folder: Path, distribution: str, versions: tuple[str, ...]) -> History:
    """One commit and tag for each release of a Python package."""
    history = History(folder)
    for version in versions:
        history.commit_tree(f"{distribution} {version}", python_source(f"{distribution}=={version}"))
        history.git("tag", version)
    return history


def planted(folder: Path, commits: int = 60, steps: tuple[int, int] = (20, 30), seed: int = 1) -> Planted:
    """Most commits touch the slow function or its file without changing what it costs."""
    chance = random.Random(seed)
    slow = commits // 2 + chance.randrange(-commits // 6, commits // 6)
    broken = slow + chance.choice((-3, -2, 2, 3))
    program, history = _Program(), History(folder)
    history.commit("First version", program.files())
    history.git("tag", "v1.0")
    hashes = []
    for number in range(1, commits):
        program.broken = number == broken
        if number == slow:
            program.steps = steps[1]
            subject = "Look at more of the neighbours"
        elif program.broken:
            subject = "Start to move the table"
        else:
            subject = program.vary(chance, number)
        hashes.append(history.commit(subject, program.files(steps[0])))
    return Planted(history, hashes[slow - 1], hashes[broken - 1])


class _Program:
    """Source that changes from commit to commit."""

    def __init__(self) -> None:
        self.steps: int | None = None
        self.broken = False
        self._names = {"total": "total", "at": "at"}
        self._notes = ["Counts what is near."]
        self._extra = list[int]()
        self._usage = "requests"

    def vary(self, chance: random.Random, number: int) -> str:
        kind = chance.choice(("name", "note", "extra", "usage"))
        if kind == "name":
            which = chance.choice(tuple(self._names))
            self._names[which] = f"{which}_{number}"
            return f"Rename {which} in tally()"
        if kind == "note":
            self._notes.append(f"See remark {number}.")
            return "Explain tally()"
        if kind == "extra":
            self._extra.append(number)
            return f"Add check_{number}()"
        self._usage = f"requests (at most {number * 1000})"
        return "Say more about the arguments"

    def files(self, steps: int = 20) -> dict[str, str]:
        total, at = self._names["total"], self._names["at"]
        notes = "\n".join(f" * {note}" for note in self._notes)
        extra = "".join(
            f"\n\nunsigned check_{n}(unsigned value)\n{{\n    return value * {2 * n + 1}u ^ {n}u;\n}}"
            for n in self._extra
        )
        table = f"""\
#include "table.h"

static unsigned table[TABLE];{"" if not self.broken else " moved_table[TABLE] = fill_table();"}

/*
{notes}
 */
unsigned tally(unsigned key)
{{
    unsigned {total} = 0;
    for (unsigned {at} = 0; {at} < {self.steps or steps}; {at}++)
        {total} += table[(key + {at} * 7) % TABLE] ^ {at};
    return {total};
}}

void fill(void)
{{
    for (unsigned i = 0; i < TABLE; i++)
        table[i] = i * 2654435761u;
}}{extra}
"""
        main = f"""\
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "table.h"

/* From 0.7 to 1.3 times as much, by chance. */
static long some(long requests)
{{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return requests / 1000 * (700 + (now.tv_nsec / 1000) * 2654435761u % 601);
}}

int main(int argc, char **argv)
{{
    if (argc != 2) {{
        fprintf(stderr, "usage: serve {self._usage}\\n");
        return 2;
    }}
    fill();
    unsigned total = 0;
    for (long i = some(atol(argv[1])); i > 0; i--)
        total += tally(total + (unsigned)i);
    printf("%u\\n", total);
    return 0;
}}
"""
        header = "#define TABLE 4096\n\nunsigned tally(unsigned key);\nvoid fill(void);\n"
        make = "serve: main.c table.c table.h\n\t$(CC) -g -O1 -fno-inline -o serve main.c table.c\n"
        return {"table.c": table, "main.c": main, "table.h": header, "Makefile": make}
