#include "mill.h"

#include <stdio.h>

void report_stone(long where) { fprintf(stderr, "stone at %ld\n", where); }

__attribute__((noinline)) static long same_name(long x) { return x / 7 - x % 5; }

long other_file(long x) { return same_name(twice(x)) + same_name(x + 1); }
