// The interpreter's stack. Slots above the top keep what they held, as a machine's stack does, until they are used
// again.
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>

static void *slots[FRAME_WORDS];
static int top;

void frames_open(void) {
    add_roots(slots, sizeof slots);
}

void **frame_push(int count) {
    if (top + count > FRAME_WORDS) {
        fprintf(stderr, "runtime: the script calls too deeply\n");
        exit(1);
    }
    void **frame = &slots[top];
    top += count;
    for (int i = 0; i < count; i++) {
        frame[i] = NULL;
    }
    return frame;
}

void frame_pop(int count) {
    top -= count;
}
