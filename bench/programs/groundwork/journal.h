// What happened lately, as lines in memory.
#pragma once

#include <stdint.h>

#include "buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum journal_level { JOURNAL_DEBUG, JOURNAL_NOTICE, JOURNAL_WARNING };

struct journal {
    struct buffer lines;
    enum journal_level least;
    uint64_t written, rotated;
};

void journal_write(struct journal *journal, enum journal_level level, uint64_t now_ms, const char *subject,
                   const char *text, uint64_t number);
void journal_free(struct journal *journal);

#ifdef __cplusplus
}
#endif
