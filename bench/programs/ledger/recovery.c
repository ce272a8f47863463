// Crash recovery: the log is read, records are gathered as far as memory allows, then applied; batch after batch.
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

enum { FRAMES_RESERVED = 512 };

struct batch {
    struct row *rows;
    size_t count, room;
};

// How many records fit into the memory left to recovery. The frames that each instance sets aside are subtracted
// for all instances from a pool that was not divided among them: with many instances hardly anything is left.
static size_t recovery_room(struct pool_settings pool) {
    uint32_t reserved = FRAMES_RESERVED * pool.instances;
    uint32_t available = pool.frames > reserved ? pool.frames - reserved : 16;
    return (size_t)available * PAGE_SLOTS / 8;
}

static void apply_batch(struct store *store, struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        store_put(store, &batch->rows[i]);
    }
    batch->count = 0;
}

// Reads the log from its beginning, leaves out what is applied already, and stops gathering when the batch is full;
// reading goes on to the end all the same, to learn where the log ends. Returns whether anything was left out.
static bool scan_log(const struct log *log, uint32_t *applied, struct batch *batch) {
    bool more = false;
    uint32_t first = *applied;
    for (size_t at = 0; at + LOG_RECORD_BYTES <= log->size; at += LOG_RECORD_BYTES) {
        struct row row;
        uint32_t sequence;
        if (!log_parse_record(log->bytes + at, &row, &sequence)) {
            break;
        }
        if (sequence < first) {
            continue;
        }
        if (batch->count == batch->room) {
            more = true;
            continue;
        }
        batch->rows[batch->count++] = row;
        *applied = sequence + 1;
    }
    return more;
}

uint64_t recover(struct store *store, const struct log *log, struct pool_settings pool) {
    struct batch batch = {.room = recovery_room(pool)};
    batch.rows = calloc(batch.room, sizeof *batch.rows);
    if (!batch.rows) {
        abort();
    }
    uint32_t applied = 0;
    uint64_t batches = 0;
    bool more;
    do {
        more = scan_log(log, &applied, &batch);
        apply_batch(store, &batch);
        batches++;
    } while (more);
    free(batch.rows);
    return batches;
}
