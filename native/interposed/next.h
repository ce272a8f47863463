// The functions that ours stand in front of, found when first needed, which may be before our constructor has run.
#ifndef WHYPERF_INTERPOSED_NEXT_H
#define WHYPERF_INTERPOSED_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

static inline void *next_function(_Atomic(void *) *found, const char *name) {
    void *function = atomic_load_explicit(found, memory_order_relaxed);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(found, function, memory_order_relaxed);
    }
    return function;
}

#define DECLARE_NEXT(name) static _Atomic(void *) next_##name
#define NEXT(name) ((__typeof__(&(name)))next_function(&next_##name, #name))

#endif
