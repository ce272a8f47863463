// A trap stands for one instruction: what is asked for is recorded or forced, and the moved copy runs in a stub. Where
// the result is asked for as well, a second trap follows the copy.
#include "observation/traps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "observation/observation.h"
#include "observation/peek.h"
#include "observation/places.h"
#include "observation/record_file.h"
#include "observation/registers.h"
#include "probes/sandbox.h"
#include "sampler/raw.h"

enum { ROWS_KEPT = 8, WAITING = 4, LARGEST_STEP = 40, MOST_WAITS = 100 };

// Instructions whose second trap is yet to come: a signal handler of the program may run in between.
struct waiting {
    const struct place *place;
    uint64_t hit[ROWS_KEPT], address[ROWS_KEPT];
    struct record *record[ROWS_KEPT];
};

static __thread struct waiting waiting[WAITING] __attribute__((tls_model("initial-exec")));
static __thread uint32_t last_waiting __attribute__((tls_model("initial-exec")));
static __thread bool is_handling __attribute__((tls_model("initial-exec")));

// Threads in a handler, or on the way to their second trap.
static _Atomic int32_t handling;

static uint64_t address_of(const struct site_row *row, const struct place *place, const ucontext_t *context) {
    uint64_t base = row->flags & SITE_HAS_BASE ? register_read(context, row->base) : place->bias;
    uint64_t index = row->flags & SITE_HAS_INDEX ? register_read(context, row->index) * row->scale : 0;
    return base + index + (uint64_t)row->displacement;
}

// The first so many hits, then every second, every fourth, ... so many of each.
static bool is_recorded(struct record_site *site, uint64_t hit, uint32_t limit) {
    uint64_t step = atomic_load(&site->records) / limit;
    if (hit & ((1ull << (step < LARGEST_STEP ? step : LARGEST_STEP)) - 1))
        return false;
    atomic_fetch_add(&site->records, 1);
    return true;
}

// glibc's FILE begins with its flags, which have a mark.
enum { STREAM_MARK = 0xfbad, STREAM_MARK_SHIFT = 16, STREAM_DESCRIPTOR_AT = 112 };

static int32_t descriptor_of(const struct site_row *row, const ucontext_t *context) {
    uint64_t value = register_read(context, row->watched);
    if (!(row->flags & SITE_STREAM))
        return (int32_t)value;
    uint32_t flags = 0;
    int32_t descriptor = -1;
    peek(value, &flags, sizeof flags);
    if (flags >> STREAM_MARK_SHIFT == STREAM_MARK)
        peek(value + STREAM_DESCRIPTOR_AT, &descriptor, sizeof descriptor);
    return descriptor;
}

#define ELLIPSIS "\xe2\x80\xa6" // in UTF-8

static bool is_inside_character(char byte) {
    return (byte & 0xc0) == 0x80;
}

static void name_file(int32_t descriptor, char *name, size_t bytes) {
    char path[32] = "/proc/self/fd/", digits[16];
    size_t end = strlen(path), count = 0;
    if (descriptor < 0)
        return;
    do
        digits[count++] = (char)('0' + descriptor % 10);
    while (descriptor /= 10);
    while (count)
        path[end++] = digits[--count];
    // Without an end if the path fills all room, or more.
    if (syscall(SYS_readlinkat, AT_FDCWD, path, name, bytes) < (long)bytes)
        return;
    size_t cut = bytes - sizeof ELLIPSIS;
    while (cut && is_inside_character(name[cut]))
        cut--;
    memcpy(&name[cut], ELLIPSIS, sizeof ELLIPSIS);
}

static struct record *recorded(const struct site_row *row, uint64_t hit, uint64_t address, const ucontext_t *context) {
    struct record *record = record_file_new();
    if (!record)
        return NULL;
    record->site = row->site;
    record->thread = (uint32_t)syscall(SYS_gettid);
    record->hit = hit;
    if (row->flags & SITE_FILE)
        name_file(descriptor_of(row, context), record->file, sizeof record->file);
    for (uint32_t i = 0; i < REGISTERS && !(row->flags & SITE_FILE); i++)
        record->registers[i] = register_read(context, i);
    record->flags = flags_read(context);
    if (row->flags & SITE_MEMORY) {
        record->memory_address = address;
        peek(address, &record->memory, row->memory_bytes);
    }
    if (row->flags & SITE_VECTOR)
        record->vector = register_read(context, VECTOR + row->vector);
    if (row->flags & SITE_ENTRY)
        record->caller = return_address(context);
    __atomic_store_n(&record->order, raw_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
    return record;
}

static uint64_t merged(uint64_t old, uint64_t value, uint32_t bytes) {
    if (bytes >= sizeof(uint64_t))
        return value;
    uint64_t mask = (1ull << (8 * bytes)) - 1;
    return bytes == sizeof(uint32_t) ? value & mask : (old & ~mask) | (value & mask);
}

static void force(const struct site_row *row, uint64_t hit, ucontext_t *context) {
    uint64_t old = register_read(context, row->forced);
    uint64_t value;
    register_write(context, row->forced, place_value(row, hit, &value) ? merged(old, value, row->forced_bytes) : old);
}

static void before(struct place *place, ucontext_t *context) {
    struct waiting *kept = &waiting[last_waiting = (last_waiting + 1) % WAITING];
    kept->place = place->after ? place : NULL;
    struct record_site *first = record_file_site(place->rows->site);
    for (uint32_t i = 0; i < place->row_count; i++) {
        const struct site_row *row = &place->rows[i];
        struct record_site *site = record_file_site(row->site);
        uint64_t hit = atomic_fetch_add(&site->hits, 1);
        uint64_t address = row->flags & SITE_MEMORY ? address_of(row, place, context) : 0;
        bool wanted = is_recorded(site, hit, place->record_limit);
        struct record *record = wanted ? recorded(row, hit, address, context) : NULL;
        if (i < ROWS_KEPT) {
            kept->hit[i] = hit;
            kept->address[i] = address;
            kept->record[i] = record;
        }
        if (row->flags & SITE_FORCED && row->after == SITE_NOWHERE)
            force(row, hit, context);
    }
    if (atomic_load(&first->hits) >= atomic_load(&first->armed_until))
        place_disarm(place);
    go_on_at(context, place->stub);
}

static struct waiting *kept_for(const struct place *place) {
    for (uint32_t i = 0; i < WAITING; i++) {
        struct waiting *one = &waiting[(last_waiting + WAITING - i) % WAITING];
        if (one->place == place)
            return one;
    }
    return NULL;
}

static void after(struct place *place, ucontext_t *context) {
    struct waiting *kept = kept_for(place);
    for (uint32_t i = 0; i < place->row_count; i++) {
        const struct site_row *row = &place->rows[i];
        struct record *record = kept && i < ROWS_KEPT ? kept->record[i] : NULL;
        if (record && row->flags & SITE_REGISTER)
            record->after = register_read(context, row->watched);
        if (record && row->flags & SITE_MEMORY)
            peek(kept->address[i], &record->memory_after, row->memory_bytes);
        uint64_t hit = kept && i < ROWS_KEPT ? kept->hit[i] : atomic_load(&record_file_site(row->site)->hits) - 1;
        if (row->flags & SITE_FORCED && row->after != SITE_NOWHERE)
            force(row, hit, context);
    }
    if (kept)
        kept->place = NULL;
    go_on_at(context, place->after + trap_bytes);
}

bool trap_handled(void *context) {
    bool is_after;
    int saved_errno = errno;
    struct place *place = place_at(trap_address(context), &is_after);
    if (!place) {
        bool was_ours = place_was_at(trap_address(context));
        if (was_ours)
            go_on_at(context, trap_address(context));
        errno = saved_errno;
        return was_ours;
    }
    if (!is_after && !place->row_count)
        return false;
    if (record_file_is_parents())
        observation_begins_in_child();
    // What we call ourselves holds a site; or a filter came between two traps.
    if (is_handling || sandbox_forbids_system_calls()) {
        go_on_at(context, is_after ? place->after + trap_bytes : place->stub);
        return true;
    }
    is_handling = true;
    if (is_after) {
        after(place, context);
        atomic_fetch_sub(&handling, 1);
    } else {
        atomic_fetch_add(&handling, 1);
        before(place, context);
        if (!place->after)
            atomic_fetch_sub(&handling, 1);
    }
    is_handling = false;
    errno = saved_errno;
    return true;
}

void traps_begin_in_child(void) {
    atomic_store(&handling, 0);
}

void traps_wait_for_handlers(void) {
    for (int i = 0; i < MOST_WAITS && atomic_load(&handling) > 0; i++)
        syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 1000000}, NULL);
}
