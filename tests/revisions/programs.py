"""A small C program whose commits cost what the test says."""

from __future__ import annotations

MAKEFILE = "tool: tool.c\n\tcc -g -O1 -o tool tool.c\n"
_TOOL = """\
#include <stdio.h>
#include <stdlib.h>

static unsigned table[4096];

/* {note} */
__attribute__((noinline)) unsigned look_up(unsigned key)
{{
    unsigned found = 0;
    for (int i = 0; i < {steps}; i++)
        found += table[(key + i) & 4095] ^ i;
    return found;
}}

int main(int argc, char **argv)
{{
    long requests = {requests};
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (argc > 1 && (!file || fscanf(file, "%ld", &requests) != 1))
        return 3;
    unsigned total = 0;
    for (long i = 0; i < requests; i++)
        total += look_up(total + i);
    printf("%u\\n", total);
    return 0;
}}
"""


def tool(steps: int, note: str = "Adds up what is near.", requests: int = 4_000_000) -> dict[str, str]:
    return {"tool.c": _TOOL.format(steps=steps, note=note, requests=requests), "Makefile": MAKEFILE}
