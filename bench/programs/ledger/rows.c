// Rows: their text, and the small compressor that pages use for it.
#include <stdio.h>
#include <string.h>

#include "ledger.h"

enum { MATCH_MIN = 3, MATCH_MAX = 34, WINDOW = 63 };

static const char *const words[] = {"transfer", "deposit", "withdrawal", "interest",
                                    "fee",      "refund",  "standing",   "order"};

static void make_text(char *text, uint32_t number) {
    uint32_t state = number * 2654435761u + 1;
    size_t used = 0;
    while (used + 12 < ROW_BYTES) {
        const char *word = words[next_random(&state) & 7];
        size_t length = strlen(word);
        memcpy(text + used, word, length);
        used += length;
        text[used++] = ' ';
    }
    memset(text + used, 0, ROW_BYTES - used);
}

void make_row(struct row *row, uint32_t number, uint32_t transaction) {
    uint32_t state = number * 747796405u + 2891336453u;
    memset(row, 0, sizeof *row);
    snprintf(row->key, sizeof row->key, "Account-%08x-%05u", next_random(&state), number % 100000);
    // One key in four holds a letter outside ASCII (a folded a-umlaut, encoded in UTF-8).
    if ((number & 3) == 0) {
        row->key[2] = (char)0xc3;
        row->key[3] = (char)0xa4;
    }
    row->created = transaction;
    make_text(row->text, number);
}

static size_t longest_match(const char *text, size_t at, size_t size, size_t *distance) {
    size_t best = 0;
    size_t from = at > WINDOW ? at - WINDOW : 0;
    for (size_t start = from; start < at; start++) {
        size_t length = 0;
        while (length < MATCH_MAX && at + length < size && text[start + length] == text[at + length]) {
            length++;
        }
        if (length > best) {
            best = length;
            *distance = at - start;
        }
    }
    return best;
}

size_t compress_text(const char *text, size_t size, char *out) {
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        size_t distance = 0;
        size_t length = longest_match(text, at, size, &distance);
        if (length >= MATCH_MIN) {
            out[used++] = (char)(0x80 | (length - MATCH_MIN));
            out[used++] = (char)distance;
            at += length;
        } else {
            out[used++] = text[at++] & 0x7f;
        }
    }
    return used;
}

size_t expand_text(const char *packed, size_t size, char *out) {
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        unsigned char code = (unsigned char)packed[at++];
        if (code & 0x80) {
            size_t length = (size_t)(code & 0x7f) + MATCH_MIN;
            size_t distance = (unsigned char)packed[at++];
            for (size_t i = 0; i < length; i++, used++) {
                out[used] = out[used - distance];
            }
        } else {
            out[used++] = (char)code;
        }
    }
    return used;
}
