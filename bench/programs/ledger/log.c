// The write-ahead log: records of one size, each with its own checksum.
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

void log_append(struct log *log, const struct row *row, uint32_t sequence) {
    if (log->size + LOG_RECORD_BYTES > log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 1 << 20;
        log->bytes = realloc(log->bytes, log->capacity);
        if (!log->bytes) {
            abort();
        }
    }
    unsigned char *at = log->bytes + log->size;
    memset(at, 0, LOG_RECORD_BYTES);
    memcpy(at + 8, row, sizeof *row);
    memcpy(at + 4, &sequence, sizeof sequence);
    uint32_t sum = checksum(at + 4, LOG_RECORD_BYTES - 4, 0);
    memcpy(at, &sum, sizeof sum);
    log->size += LOG_RECORD_BYTES;
}

bool log_parse_record(const unsigned char *at, struct row *row, uint32_t *sequence) {
    uint32_t sum;
    memcpy(&sum, at, sizeof sum);
    if (sum != checksum(at + 4, LOG_RECORD_BYTES - 4, 0)) {
        return false;
    }
    memcpy(sequence, at + 4, sizeof *sequence);
    memcpy(row, at + 8, sizeof *row);
    return true;
}
