"""Programs that allocate, compiled for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

# Each name is a way to need more memory. `bad` as the first argument makes the difference.
ITEMS = """
#include <stdlib.h>
#include <string.h>
static void *checked_allocate(size_t size) { void *found = malloc(size); if (!found) abort(); return found; }
char *make_item(int number, size_t size) { return memset(checked_allocate(size), number, size); }
void drop_item(char *item, int keep) { if (!keep) free(item); }
"""
LEAK = """
void work(int bad) { for (int i = 0; i < 60000; i++) drop_item(make_item(i, 1000), bad && i % 2); }
"""
GROWTH = """
static char *held[300000];
void fill(int count) { for (int i = 0; i < count; i++) held[i] = make_item(i, 1000); }
void empty(int count) { for (int i = 0; i < count; i++) drop_item(held[i], 0); }
void work(int bad) { int count = bad ? 60000 : 15000; fill(count); empty(count); }
"""
LARGER = """
static char *held[20000];
size_t size_of(int bad) { return bad ? 4000 : 1000; }
void fill(size_t size) { for (int i = 0; i < 15000; i++) held[i] = make_item(i, size); }
void work(int bad) { fill(size_of(bad)); for (int i = 0; i < 15000; i++) drop_item(held[i], 0); }
"""
ARENA = """
#include <sys/mman.h>
static char *arena;
static size_t used;
char *take(size_t size) { used += size; return arena + used - size; }
void fill(int count) { for (int i = 0; i < count; i++) memset(take(1000), i, 1000); }
void give_back(void) { char *all = mmap(0, 40 << 20, 3, 34, -1, 0); memset(all, 1, 40 << 20); munmap(all, 40 << 20); }
void work(int bad) { arena = mmap(0, 1 << 28, 3, 34, -1, 0); give_back(); fill(bad ? 60000 : 5000); }
"""
MAIN = """
int main(int count, char **words) { work(count > 1 && !strcmp(words[1], "bad")); return 0; }
"""


def compiled(folder: Path, body: str, name: str = "program") -> Path:
    source, program = folder / f"{name}.c", folder / name
    source.write_text(ITEMS + body + MAIN)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-o", program, source], check=True)
    return program
