// The functions that programs allocate and free memory with. Each hands on to the one behind us, whoever's it is.
//
// Nearly every call passes by: its bytes are subtracted, or its address is not in the filter, and the next function
// is jumped to. An allocator may call another of these functions: only the innermost call counts.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "memory/allocations.h"
#include "sampler/sampler.h"

// Looking a function up may allocate: served from here, and never freed.
enum { FIRST_BYTES = 64 * 1024, ALIGNMENT = 16 };
static _Alignas(ALIGNMENT) unsigned char first_memory[FIRST_BYTES];
static _Atomic size_t first_used;
static __thread bool looking_up;

static bool is_first(const void *address) {
    return (uintptr_t)address - (uintptr_t)first_memory < FIRST_BYTES;
}

// Every block has its size before it.
static void *first_allocate(size_t bytes) {
    size_t whole = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t at = whole < FIRST_BYTES ? atomic_fetch_add(&first_used, whole) : FIRST_BYTES;
    if (at > FIRST_BYTES - whole) {
        errno = ENOMEM;
        return NULL;
    }
    unsigned char *block = first_memory + at;
    memcpy(block, &bytes, sizeof bytes);
    live_hint((uint64_t)(block + ALIGNMENT)); // free() looks at it
    return block + ALIGNMENT;
}

static void *looked_up(const char *name) {
    looking_up = true;
    void *function = dlsym(RTLD_NEXT, name);
    looking_up = false;
    return function;
}

// The first call looks the function up; `meanwhile` is for calls that this itself makes.
#define NEXT_FUNCTION(type, name, parameters, arguments, meanwhile)                                                    \
    static type look_up_##name parameters;                                                                             \
    static _Atomic(__typeof__(&name)) next_##name = look_up_##name;                                                    \
    static void find_##name(void) {                                                                                    \
        atomic_store_explicit(&next_##name, (__typeof__(&name))looked_up(#name), memory_order_relaxed);                \
    }                                                                                                                  \
    static type look_up_##name parameters {                                                                            \
        if (looking_up)                                                                                                \
            return meanwhile;                                                                                          \
        find_##name();                                                                                                 \
        return NEXT_OF(name) arguments;                                                                                \
    }
#define NEXT_OF(name) (atomic_load_explicit(&next_##name, memory_order_relaxed))

static void *first_zeroed(size_t count, size_t bytes) { // fresh memory is
    return count && bytes > FIRST_BYTES / count ? NULL : first_allocate(count * bytes);
}

NEXT_FUNCTION(void *, malloc, (size_t bytes), (bytes), first_allocate(bytes))
NEXT_FUNCTION(void, free, (void *address), (address), (void)0)
NEXT_FUNCTION(void *, calloc, (size_t count, size_t bytes), (count, bytes), first_zeroed(count, bytes))
NEXT_FUNCTION(void *, realloc, (void *old, size_t bytes), (old, bytes), old ? NULL : first_allocate(bytes))
NEXT_FUNCTION(void *, reallocarray, (void *old, size_t count, size_t bytes), (old, count, bytes), NULL)
NEXT_FUNCTION(int, posix_memalign, (void **address, size_t alignment, size_t bytes), (address, alignment, bytes),
              ENOMEM)
NEXT_FUNCTION(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
NEXT_FUNCTION(void *, memalign, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
NEXT_FUNCTION(void *, valloc, (size_t bytes), (bytes), NULL)
NEXT_FUNCTION(void *, pvalloc, (size_t bytes), (bytes), NULL)

// Found before a signal handler of the program, or a child of vfork(), can be the first to call them.
__attribute__((constructor)) static void find_all(void) {
    int saved_errno = errno;
    find_malloc();
    find_free();
    find_calloc();
    find_realloc();
    find_reallocarray();
    find_posix_memalign();
    find_aligned_alloc();
    find_memalign();
    errno = saved_errno;
}

// Whether the next function can be called without another thought. Then its bytes are subtracted already.
static inline bool passes_by(size_t bytes) {
    int64_t left = these_allocations.until_sample - (int64_t)bytes;
    if (__builtin_expect((left | (int64_t)bytes) < 0, 0))
        return false;
    these_allocations.until_sample = left;
    return true;
}

// Of functions that let calls pass by: what they call inside would be counted twice.
static void *counted_alone(int64_t before, void *address, size_t bytes) {
    if (these_allocations.until_sample != before)
        atomic_store_explicit(&allocators_call_each_other, true, memory_order_relaxed);
    return counted(before, address, bytes);
}

#define SELDOM __attribute__((noinline, cold)) static

SELDOM void *watched_malloc(size_t bytes) {
    int64_t before = these_allocations.until_sample;
    void *address = NEXT_OF(malloc)(bytes);
    return looking_up ? address : counted_alone(before, address, bytes);
}

EXPORT void *malloc(size_t bytes) {
    return passes_by(bytes) ? NEXT_OF(malloc)(bytes) : watched_malloc(bytes);
}

SELDOM void watched_free(void *address) {
    if (is_first(address))
        return;
    freed(address);
    NEXT_OF(free)(address);
}

EXPORT void free(void *address) {
    if (__builtin_expect(live_may_hold((uint64_t)address), 0))
        watched_free(address);
    else
        NEXT_OF(free)(address);
}

SELDOM void *watched_calloc(size_t count, size_t bytes) {
    int64_t before = these_allocations.until_sample;
    void *address = NEXT_OF(calloc)(count, bytes);
    return looking_up ? address : counted_alone(before, address, count * bytes);
}

EXPORT void *calloc(size_t count, size_t bytes) {
    size_t whole;
    bool passes = !__builtin_mul_overflow(count, bytes, &whole) && passes_by(whole);
    return passes ? NEXT_OF(calloc)(count, bytes) : watched_calloc(count, bytes);
}

static void *moved_from_first(const void *old, size_t bytes) {
    size_t had;
    memcpy(&had, (const unsigned char *)old - ALIGNMENT, sizeof had);
    void *address = malloc(bytes);
    if (address)
        memcpy(address, old, had < bytes ? had : bytes);
    return address;
}

// The old block is gone unless the call fails; while it lasts another thread may get its address.
struct reallocation {
    struct ending_allocation old;
    bool sampled;
    int64_t before;
};

static struct reallocation reallocation_begin(void *old) {
    struct reallocation one = {.before = these_allocations.until_sample};
    one.sampled = live_may_hold((uint64_t)old) && allocation_leaves((uint64_t)old, &one.old);
    return one;
}

static void *reallocation_end(struct reallocation one, void *address, size_t bytes) {
    bool failed = !address && bytes;
    if (one.sampled && (!failed || !allocation_stays(&one.old)))
        allocation_ended(&one.old);
    return counted_alone(one.before, address, bytes);
}

SELDOM void *watched_realloc(void *old, size_t bytes) {
    if (is_first(old))
        return moved_from_first(old, bytes);
    if (looking_up)
        return NEXT_OF(realloc)(old, bytes);
    struct reallocation one = reallocation_begin(old);
    return reallocation_end(one, NEXT_OF(realloc)(old, bytes), bytes);
}

EXPORT void *realloc(void *old, size_t bytes) {
    bool is_watched = __builtin_expect(live_may_hold((uint64_t)old), 0) || !passes_by(bytes);
    return is_watched ? watched_realloc(old, bytes) : NEXT_OF(realloc)(old, bytes);
}

EXPORT void *reallocarray(void *old, size_t count, size_t bytes) {
    if (is_first(old))
        return moved_from_first(old, count * bytes);
    struct reallocation one = reallocation_begin(old);
    void *address = NEXT_OF(reallocarray)(old, count, bytes);
    return reallocation_end(one, address, address ? count * bytes : count && bytes);
}

EXPORT int posix_memalign(void **address, size_t alignment, size_t bytes) {
    int64_t before = these_allocations.until_sample;
    int error = NEXT_OF(posix_memalign)(address, alignment, bytes);
    if (!error)
        counted(before, *address, bytes);
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    int64_t before = these_allocations.until_sample;
    void *address = NEXT_OF(aligned_alloc)(alignment, bytes);
    return counted(before, address, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes) {
    int64_t before = these_allocations.until_sample;
    void *address = NEXT_OF(memalign)(alignment, bytes);
    return counted(before, address, bytes);
}

EXPORT void *valloc(size_t bytes) {
    int64_t before = these_allocations.until_sample;
    void *address = NEXT_OF(valloc)(bytes);
    return counted(before, address, bytes);
}

EXPORT void *pvalloc(size_t bytes) {
    int64_t before = these_allocations.until_sample;
    void *address = NEXT_OF(pvalloc)(bytes);
    return counted(before, address, bytes);
}
