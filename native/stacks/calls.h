// Whether the code before a return address calls a given function.
#ifndef WHYPERF_CALLS_H
#define WHYPERF_CALLS_H

#include <stdint.h>
#include <sys/types.h>

enum call_evidence {
    CALL_NONE = 0,     // no call instruction, or one that goes elsewhere
    CALL_POSSIBLE = 1, // a call through a pointer
    CALL_CERTAIN = 2,  // a direct call of the function, or one through the PLT or the GOT
};

enum call_evidence call_evidence(pid_t pid, uint64_t return_address, uint64_t function);

#endif
