// Copying in the signal handler, where libc's code is cold and most copies are a few bytes.
#ifndef WHYPERF_VALUES_COPY_H
#define WHYPERF_VALUES_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void copy_in_signal(void *to, const void *from, size_t size) {
    if (size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (size == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

#endif
