#include "dependences/decoder/scan.h"

#include <string.h>

static bool add_module(struct scanned *scanned, struct bytes *bytes) {
    struct scanned_module *module = column_add(&scanned->modules, sizeof *module);
    if (!module)
        return false;
    module->base = bytes_number(bytes);
    module->bias = bytes_number(bytes);
    module->build_id = bytes_run(bytes, &module->build_id_length);
    module->path = bytes_run(bytes, &module->path_length);
    return true;
}

static bool add_site(struct scanned *scanned, struct bytes *bytes) {
    uint64_t before = ((struct scanned_site *)scanned->sites.data)[scanned->sites.count - 1].address;
    struct scanned_site *site = column_add(&scanned->sites, sizeof *site);
    if (!site)
        return false;
    memset(site, 0, sizeof *site);
    site->module = (uint32_t)bytes_number(bytes);
    site->address = before + (uint64_t)unzigzag(bytes_number(bytes));
    site->length = (uint8_t)bytes_number(bytes);
    site->function = (int32_t)((int64_t)bytes_number(bytes) - 1);
    site->flags = (uint16_t)bytes_number(bytes);
    if (site->module >= scanned->modules.count)
        bytes->bad = true;
    return true;
}

static bool add_pair(struct scanned *scanned, struct bytes *bytes) {
    struct scanned_pair *pair = column_add(&scanned->pairs, sizeof *pair);
    if (!pair)
        return false;
    pair->reader = (uint32_t)bytes_number(bytes);
    pair->writer = (uint32_t)bytes_number(bytes);
    pair->loads = bytes_number(bytes);
    if (pair->reader >= scanned->sites.count || pair->writer >= scanned->sites.count)
        bytes->bad = true;
    return true;
}

static bool add_watch(struct scanned *scanned, struct bytes *bytes) {
    struct scanned_watch *watch = column_add(&scanned->watches, sizeof *watch);
    if (!watch)
        return false;
    watch->watch = (uint32_t)bytes_number(bytes);
    watch->site = (uint32_t)bytes_number(bytes);
    watch->event = (uint32_t)bytes_number(bytes);
    watch->thread = scanned->thread;
    watch->old_value = bytes_number(bytes);
    watch->new_value = bytes_number(bytes);
    if (watch->site >= scanned->sites.count || watch->event > scanned->events)
        bytes->bad = true;
    return true;
}

static bool add_unsupported(struct scanned *scanned, struct bytes *bytes) {
    struct scanned_unsupported *found = column_add(&scanned->unsupported, sizeof *found);
    if (!found)
        return false;
    found->module = (uint32_t)bytes_number(bytes);
    found->address = bytes_number(bytes);
    found->bytes = bytes_run(bytes, &found->length);
    return true;
}

bool record_skip(uint64_t record, struct bytes *bytes) {
    static const uint8_t numbers[] = {
        [RECORD_SITE] = 5,  [RECORD_SWITCH] = 2, [RECORD_THREAD] = 2,  [RECORD_SIGNAL] = 1, [RECORD_SIGNAL_END] = 0,
        [RECORD_WATCH] = 5, [RECORD_PAIR] = 3,   [RECORD_INEXACT] = 2, [RECORD_FORK] = 0,   [RECORD_END] = 2,
    };
    size_t length;
    uint64_t flags;
    switch (record) {
    case RECORD_MODULE:
        bytes_number(bytes);
        bytes_number(bytes);
        bytes_run(bytes, &length);
        bytes_run(bytes, &length);
        return true;
    case RECORD_ENTER:
    case RECORD_LEAVE:
        bytes_number(bytes);
        bytes_number(bytes);
        flags = bytes_number(bytes);
        // ENTER_ARGUMENTS and LEAVE_RESULT are the same bit.
        for (int i = flags & ENTER_ARGUMENTS ? (record == RECORD_ENTER ? 3 : 1) : 0; i; i--)
            bytes_number(bytes);
        return true;
    case RECORD_UNSUPPORTED:
        bytes_number(bytes);
        bytes_number(bytes);
        bytes_run(bytes, &length);
        return true;
    default:
        if (record > RECORD_END)
            return false;
        for (int i = numbers[record]; i; i--)
            bytes_number(bytes);
        return true;
    }
}

static bool on_record(void *context, uint64_t record, struct bytes *bytes) {
    struct scanned *scanned = context;
    uint64_t kind;
    switch (record) {
    case RECORD_MODULE:
        return add_module(scanned, bytes);
    case RECORD_SITE:
        return add_site(scanned, bytes);
    case RECORD_PAIR:
        return add_pair(scanned, bytes);
    case RECORD_WATCH:
        return add_watch(scanned, bytes);
    case RECORD_UNSUPPORTED:
        return add_unsupported(scanned, bytes);
    case RECORD_INEXACT:
        kind = bytes_number(bytes);
        if (kind < INEXACT_COUNT)
            scanned->inexact[kind] = bytes_number(bytes);
        else
            bytes_number(bytes);
        return true;
    case RECORD_SWITCH:
        scanned->thread = (uint32_t)bytes_number(bytes);
        bytes_number(bytes);
        return true;
    case RECORD_THREAD:
        scanned->threads++;
        bytes_number(bytes);
        bytes_number(bytes);
        return true;
    case RECORD_FORK:
        scanned->forks++;
        return true;
    case RECORD_END:
        scanned->ending = (int)bytes_number(bytes);
        scanned->instructions = bytes_number(bytes);
        return true;
    default:
        if (!record_skip(record, bytes))
            bytes->bad = true;
        return true;
    }
}

static bool on_event(void *context, const struct event *event) {
    struct scanned *scanned = context;
    if (event->site >= scanned->sites.count) {
        scanned->damaged = true;
        return false;
    }
    scanned->events++;
    scanned->producers += event->count;
    return true;
}

enum read_result scan(struct scanned *scanned, const uint8_t *stream, size_t length) {
    *scanned = (struct scanned){.ending = -1, .thread = 1};
    struct scanned_site *nothing = column_add(&scanned->sites, sizeof *nothing);
    if (!nothing)
        return READ_NO_MEMORY;
    *nothing = (struct scanned_site){.function = -1};
    enum read_result result = reader_walk(&(struct reader){scanned, on_event, on_record}, stream, length);
    return result == READ_NO_MEMORY && scanned->damaged ? READ_CUT : result;
}

void scan_free(struct scanned *scanned) {
    column_free(&scanned->modules);
    column_free(&scanned->sites);
    column_free(&scanned->pairs);
    column_free(&scanned->watches);
    column_free(&scanned->unsupported);
}
