// C++'s operators. Those of the C++ library call malloc and free, where they are seen; other allocators have their own.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "memory/allocations.h"
#include "sampler/sampler.h"

// Where the C++ library came with a plug-in, none of its functions stand behind ours: it is asked by name. NULL where
// a plug-in has its own inside, and relies on ours.
__attribute__((noinline, cold)) static void *searched(_Atomic(void *) *cache, const char *name) {
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
    void *function = next_function(cache, name);
    for (size_t i = 0; !function && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library)
            continue;
        function = dlsym(library, name);
        dlclose(library);
    }
    atomic_store_explicit(cache, function, memory_order_relaxed);
    return function;
}

static inline void *found(_Atomic(void *) *cache, const char *name) {
    void *function = atomic_load_explicit(cache, memory_order_relaxed);
    return function ? function : searched(cache, name);
}

#define FOUND(name) ((__typeof__(&name))found(&next_##name, #name))

// Of plug-ins with their own operators. Nothing that allocates may answer NULL here, and only C++ can throw.
static void *plainly_allocated(size_t alignment, size_t bytes) {
    void *address = alignment ? memalign(alignment, bytes) : malloc(bytes);
    if (!address)
        abort();
    return address;
}

// Not looked up before the first call: the C++ library may be loaded late. An exception passes through here.
// Operators that have called malloc often enough in a row are no longer looked at: it counts for them.
enum { OFTEN_ENOUGH = 16 };

#define NEW(name, alignment, parameters, arguments)                                                                    \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT void *name parameters;                                                                                      \
    static _Atomic uint8_t counted_inside_##name;                                                                      \
    __attribute__((noinline)) static void *watched##name parameters {                                                  \
        int64_t before = these_allocations.until_sample;                                                               \
        __typeof__(&name) next = FOUND(name);                                                                          \
        void *address = next ? next arguments : plainly_allocated(alignment, bytes);                                   \
        uint8_t inside = these_allocations.until_sample == before ? 0 : counted_inside_##name + 1;                     \
        atomic_store_explicit(&counted_inside_##name, next ? inside : 0, memory_order_relaxed);                        \
        return counted(before, address, bytes);                                                                        \
    }                                                                                                                  \
    EXPORT void *name parameters {                                                                                     \
        bool is_known = atomic_load_explicit(&counted_inside_##name, memory_order_relaxed) >= OFTEN_ENOUGH;            \
        __typeof__(&name) next = atomic_load_explicit(&next_##name, memory_order_relaxed);                             \
        return is_known ? next arguments : watched##name arguments;                                                    \
    }

#define DELETE(name, parameters, arguments)                                                                            \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT void name parameters;                                                                                       \
    __attribute__((noinline)) static void watched##name parameters {                                                   \
        __typeof__(&name) next = FOUND(name);                                                                          \
        freed(address);                                                                                                \
        if (next)                                                                                                      \
            next arguments;                                                                                            \
        else                                                                                                           \
            free(address);                                                                                             \
    }                                                                                                                  \
    EXPORT void name parameters {                                                                                      \
        __typeof__(&name) next = atomic_load_explicit(&next_##name, memory_order_relaxed);                             \
        if (__builtin_expect(!next || live_may_hold((uint64_t)address), 0))                                            \
            watched##name arguments;                                                                                   \
        else                                                                                                           \
            next arguments;                                                                                            \
    }

NEW(_Znwm, 0, (size_t bytes), (bytes))
NEW(_Znam, 0, (size_t bytes), (bytes))
NEW(_ZnwmRKSt9nothrow_t, 0, (size_t bytes, const void *tag), (bytes, tag))
NEW(_ZnamRKSt9nothrow_t, 0, (size_t bytes, const void *tag), (bytes, tag))
NEW(_ZnwmSt11align_val_t, alignment, (size_t bytes, size_t alignment), (bytes, alignment))
NEW(_ZnamSt11align_val_t, alignment, (size_t bytes, size_t alignment), (bytes, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, alignment, (size_t bytes, size_t alignment, const void *tag),
    (bytes, alignment, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, alignment, (size_t bytes, size_t alignment, const void *tag),
    (bytes, alignment, tag))

DELETE(_ZdlPv, (void *address), (address))
DELETE(_ZdaPv, (void *address), (address))
DELETE(_ZdlPvm, (void *address, size_t bytes), (address, bytes))
DELETE(_ZdaPvm, (void *address, size_t bytes), (address, bytes))
DELETE(_ZdlPvRKSt9nothrow_t, (void *address, const void *tag), (address, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *address, const void *tag), (address, tag))
DELETE(_ZdlPvSt11align_val_t, (void *address, size_t alignment), (address, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *address, size_t alignment), (address, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *address, size_t bytes, size_t alignment), (address, bytes, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *address, size_t bytes, size_t alignment), (address, bytes, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *address, size_t alignment, const void *tag),
       (address, alignment, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *address, size_t alignment, const void *tag),
       (address, alignment, tag))
