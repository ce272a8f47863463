#include "journal.h"

#include "digest.h"

enum { MOST_BYTES = 256 * 1024 };

static void stamp(struct buffer *lines, uint64_t now_ms) {
    buffer_padded(lines, now_ms / 3600000 % 24, 2);
    buffer_add(lines, ":", 1);
    buffer_padded(lines, now_ms / 60000 % 60, 2);
    buffer_add(lines, ":", 1);
    buffer_padded(lines, now_ms / 1000 % 60, 2);
    buffer_add(lines, ".", 1);
    buffer_padded(lines, now_ms % 1000, 3);
    buffer_add(lines, " ", 1);
}

// The old lines are not kept; their checksum is, as the first line of the new ones.
static void rotate(struct journal *journal) {
    uint32_t sum = crc_of(journal->lines.bytes, journal->lines.size);
    journal->lines.size = 0;
    journal->rotated++;
    buffer_text(&journal->lines, "continues ");
    buffer_hex(&journal->lines, sum, 8);
    buffer_add(&journal->lines, "\n", 1);
}

void journal_write(struct journal *journal, enum journal_level level, uint64_t now_ms, const char *subject,
                   const char *text, uint64_t number) {
    static const char *const names[] = {"debug", "notice", "warning"};
    if (level < journal->least) {
        return;
    }
    if (journal->lines.size > MOST_BYTES) {
        rotate(journal);
    }
    stamp(&journal->lines, now_ms);
    buffer_text(&journal->lines, names[level]);
    buffer_add(&journal->lines, " ", 1);
    buffer_quoted(&journal->lines, subject);
    buffer_add(&journal->lines, " ", 1);
    buffer_text(&journal->lines, text);
    buffer_add(&journal->lines, " ", 1);
    buffer_number(&journal->lines, number);
    buffer_add(&journal->lines, "\n", 1);
    journal->written++;
}

void journal_free(struct journal *journal) {
    buffer_free(&journal->lines);
}
