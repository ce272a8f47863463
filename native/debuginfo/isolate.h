// Reading a file that may be damaged happens in a child: what crashes or loops there costs one process, not whyperf.
#ifndef WHYPERF_DEBUGINFO_ISOLATE_H
#define WHYPERF_DEBUGINFO_ISOLATE_H

#include <stdbool.h>
#include <sys/types.h>

struct isolate_limits {
    unsigned cpu_seconds;
    unsigned wall_seconds;
};

enum isolate_end {
    ISOLATE_DONE = 0,
    ISOLATE_FAILED = 1,  // the child gave up by itself
    ISOLATE_CRASHED = 2, // a signal ended it
    ISOLATE_TIMEOUT = 3,
    ISOLATE_NO_CHILD = 4, // no process or memory for it
    ISOLATE_INTERRUPTED = 5,
};

// Runs `job(argument, output)` in a forked child; *output is a memory file with what it wrote (to be closed by the
// caller when the result is ISOLATE_DONE). `interrupted` is asked now and then.
enum isolate_end isolate_run(bool (*job)(void *argument, int output), void *argument, struct isolate_limits limits,
                             bool (*interrupted)(void), int *output);

_Noreturn void isolate_give_up(void);

#endif
