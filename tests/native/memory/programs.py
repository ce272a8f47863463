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
# With -foptimize-sibling-calls both functions jump to the next one: none is on the stack when memory is freed.
JUMPS_TO_FREE = """
static volatile int dropped;
__attribute__((noinline)) static void drop(char *item) { dropped++; free(item); }
__attribute__((noinline)) static void take_back(char *item) { if (item) { dropped += 2; drop(item); } }
void work(int bad) { for (int i = 0; i < 60000; i++) { take_back(make_item(i, 1000)); dropped++; } }
"""
# Who frees is no longer called. In LEAK it is, and frees less.
NOT_CALLED = """
static char *latest[64];
void forget(int at) { free(latest[at]); latest[at] = 0; }
void clean(int at) { if (latest[at]) forget(at); }
void keep(int number, int limit) { if (limit) clean(number % 64); latest[number % 64] = make_item(number, 1000); }
void work(int bad) { for (int i = 0; i < 60000; i++) keep(i, !bad); }
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
# A list that is emptied at 100 items, or never. Its pauses are the recorder's: variables are read only where the ring
# has room, and pointers are followed, where that takes long, only in one sample of 16.
NEVER_EMPTIED = """
#include <unistd.h>
struct list { char *item[50000]; size_t used; } all;
void push(struct list *list, int keep) {
    list->item[list->used] = make_item(1, 1000);
    list->used++;
    if (!keep && list->used == 100) while (list->used) drop_item(list->item[--list->used], 0);
}
void work(int bad) { for (int i = 0; i < 40000; i++) { push(&all, bad); if (i % 1000 == 0) usleep(5000); } }
"""
# Buffers of 100 kB in use, of which the bad runs take 40 times as much.
WASTE = """
static char *held[64];
void reserve(size_t size) { for (int i = 0; i < 60; i++) { held[i] = malloc(size); memset(held[i], i, 100000); } }
void work(int bad) { reserve(bad ? 4000000 : 100000); for (int i = 0; i < 60; i++) free(held[i]); }
"""
# The same 200 items in use; the bad runs make each anew for every one of 100 rounds.
CHURN = """
static char *held[200];
void refresh(int i) { free(held[i]); held[i] = malloc(20000); memset(held[i], i, 64); }
void once(void) { for (int i = 0; i < 2000; i++) free(malloc(5000)); for (int i = 0; i < 200; i++) refresh(i); }
void work(int bad) { once(); for (int i = 0; bad && i < 20000; i++) refresh(i % 200); }
"""
# Buffers that are shrunk to a fourth once they are filled, or not.
SHRUNK = """
static char *held[5000];
char *fit(char *item) { return realloc(item, 2000); }
void fill(int i, int bad) { char *item = make_item(i, 8000); held[i] = bad ? item : fit(item); }
void work(int bad) { for (int i = 0; i < 5000; i++) fill(i, bad); for (int i = 0; i < 5000; i++) free(held[i]); }
"""
# Buffers that grow step by step, and are freed, or not.
GROWN = """
static char *grow(char *item) {
    for (int size = 2000; size <= 8000; size += 1000) item = realloc(item, size);
    return item;
}
char *fill(int i) { return grow(make_item(i, 1000)); }
void finish(char *item) { free(item); }
void work(int bad) { for (int i = 0; i < 5000; i++) { char *item = fill(i); if (!bad) finish(item); } }
"""
MAIN = """
int main(int count, char **words) { work(count > 1 && !strcmp(words[1], "bad")); return 0; }
"""


def compiled(folder: Path, body: str, name: str = "program", *flags: str) -> Path:
    source, program = folder / f"{name}.c", folder / name
    source.write_text(ITEMS + body + MAIN)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", *flags, "-o", program, source], check=True)
    return program


# An arena for each request, and one that is kept; compiled as it is, with optimisation.
_POOL = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
struct arena { char *start, *at, *end; };
__attribute__((noinline)) static void *arena_take(struct arena *arena, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (arena->at + size > arena->end) {
        arena->start = arena->at = MORE(1 << 20);
        arena->end = arena->at + (1 << 20);
    }
    arena->at += size;
    return arena->at - size;
}
__attribute__((noinline)) static void arena_clear(struct arena *arena) { arena->at = arena->start; }
struct row { struct row *next; char text[]; };
__attribute__((noinline)) struct row *add_row(struct arena *arena, struct row *next, int number) {
    struct row *row = arena_take(arena, 1000);
    row->next = next;
    memset(row->text, number, 992);
    return row;
}
__attribute__((noinline)) struct row *remember(struct arena *arena, struct row *next, int number) {
    struct row *row = arena_take(arena, 500);
    row->next = next;
    memset(row->text, number, 492);
    return row;
}
int main(int count, char **words) {
    struct arena requests = {0}, cache = {0};
    struct row *kept = NULL;
    long sum = 0;
    for (int request = 0; request < 3000; request++) {
        struct row *rows = NULL;
        for (int i = 0; i < 20; i++)
            rows = add_row(&requests, rows, i);
        for (struct row *row = rows; row; row = row->next)
            sum += row->text[3];
        for (int i = 0; i < (count > 1 && !strcmp(words[1], "bad") ? 20 : 2); i++)
            kept = remember(&cache, kept, i);
        arena_clear(&requests);
    }
    printf("%ld %d\\n", sum, kept->text[0]);
    return 0;
}
"""
POOL = "#define MORE(size) mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)\n" + _POOL
POOL_ON_MALLOC = "#define MORE(size) malloc(size)\n" + _POOL
