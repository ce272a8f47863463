// The functions that programs allocate and free memory with. Each hands on to the one behind us, whoever's it is.
//
// An allocator may call another of these functions: only the innermost call counts, which is where `calls` grew.
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
    return block + ALIGNMENT;
}

static void *found(_Atomic(void *) *cache, const char *name) {
    void *function = atomic_load_explicit(cache, memory_order_relaxed);
    if (function)
        return function;
    looking_up = true;
    function = next_function(cache, name);
    looking_up = false;
    return function;
}

#define FOUND(name) ((__typeof__(&name))found(&next_##name, #name))

DECLARE_NEXT(malloc);
DECLARE_NEXT(free);
DECLARE_NEXT(calloc);
DECLARE_NEXT(realloc);
DECLARE_NEXT(reallocarray);
DECLARE_NEXT(posix_memalign);
DECLARE_NEXT(aligned_alloc);
DECLARE_NEXT(memalign);
DECLARE_NEXT(valloc);
DECLARE_NEXT(pvalloc);

// Found before a signal handler of the program, or a child of vfork(), can be the first to call them.
__attribute__((constructor)) static void find_all(void) {
    int saved_errno = errno;
    (void)FOUND(malloc);
    (void)FOUND(free);
    (void)FOUND(calloc);
    (void)FOUND(realloc);
    (void)FOUND(reallocarray);
    (void)FOUND(posix_memalign);
    (void)FOUND(aligned_alloc);
    (void)FOUND(memalign);
    errno = saved_errno;
}

static void counted(uint32_t calls_before, void *address, size_t bytes) {
    if (these_allocations.calls == calls_before)
        allocated(address, bytes);
}

EXPORT void *malloc(size_t bytes) {
    if (looking_up)
        return first_allocate(bytes);
    uint32_t before = these_allocations.calls;
    void *address = FOUND(malloc)(bytes);
    counted(before, address, bytes);
    return address;
}

EXPORT void free(void *address) {
    if (is_first(address))
        return;
    freed(address);
    FOUND(free)(address);
}

EXPORT void *calloc(size_t count, size_t bytes) {
    if (looking_up) // fresh memory, all zero
        return count && bytes > FIRST_BYTES / count ? NULL : first_allocate(count * bytes);
    uint32_t before = these_allocations.calls;
    void *address = FOUND(calloc)(count, bytes);
    counted(before, address, count * bytes);
    return address;
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
    uint32_t calls;
};

static struct reallocation reallocation_begin(void *old) {
    struct reallocation one = {.calls = these_allocations.calls};
    one.sampled = live_may_hold((uint64_t)old) && allocation_leaves((uint64_t)old, &one.old);
    return one;
}

static void *reallocation_end(struct reallocation one, void *address, size_t bytes) {
    bool failed = !address && bytes;
    if (one.sampled && (!failed || !allocation_stays(&one.old)))
        allocation_ended(&one.old);
    counted(one.calls, address, bytes);
    return address;
}

EXPORT void *realloc(void *old, size_t bytes) {
    if (is_first(old))
        return moved_from_first(old, bytes);
    if (looking_up)
        return first_allocate(bytes);
    struct reallocation one = reallocation_begin(old);
    return reallocation_end(one, FOUND(realloc)(old, bytes), bytes);
}

EXPORT void *reallocarray(void *old, size_t count, size_t bytes) {
    if (is_first(old))
        return moved_from_first(old, count * bytes);
    struct reallocation one = reallocation_begin(old);
    void *address = FOUND(reallocarray)(old, count, bytes);
    return reallocation_end(one, address, address ? count * bytes : count && bytes);
}

EXPORT int posix_memalign(void **address, size_t alignment, size_t bytes) {
    uint32_t before = these_allocations.calls;
    int error = FOUND(posix_memalign)(address, alignment, bytes);
    if (!error)
        counted(before, *address, bytes);
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    uint32_t before = these_allocations.calls;
    void *address = FOUND(aligned_alloc)(alignment, bytes);
    counted(before, address, bytes);
    return address;
}

EXPORT void *memalign(size_t alignment, size_t bytes) {
    uint32_t before = these_allocations.calls;
    void *address = FOUND(memalign)(alignment, bytes);
    counted(before, address, bytes);
    return address;
}

EXPORT void *valloc(size_t bytes) {
    uint32_t before = these_allocations.calls;
    void *address = FOUND(valloc)(bytes);
    counted(before, address, bytes);
    return address;
}

EXPORT void *pvalloc(size_t bytes) {
    uint32_t before = these_allocations.calls;
    void *address = FOUND(pvalloc)(bytes);
    counted(before, address, bytes);
    return address;
}
