// Copying in the signal handler, where libc's code is cold and most copies are a few bytes.
#ifndef WHYPERF_VALUES_COPY_H
#define WHYPERF_VALUES_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "machine/machine.h"

static inline void copy_in_signal(void *to, const void *from, size_t size) {
    const size_t word = sizeof(uint64_t);
    if (size < word || size > 16 * word) { // a string instruction takes long to start
        if (size == sizeof(uint32_t))
            memcpy(to, from, sizeof(uint32_t));
        else
            machine_copy_bytes(to, from, size);
        return;
    }
    for (size_t at = 0; at + word <= size; at += word) {
        memcpy((char *)to + at, (const char *)from + at, sizeof(uint64_t));
        __asm__ volatile("" : : : "memory"); // or else the compiler makes a call of it
    }
    memcpy((char *)to + size - word, (const char *)from + size - word, sizeof(uint64_t));
}

#endif
