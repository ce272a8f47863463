// Draws a ticket: a plug-in as others would write it.
#include "buffer.h"
#include "delay.h"
#include "digest.h"
#include "kiosk.h"

enum { LINES = 40 };

static __attribute__((noinline)) void draw_line(struct buffer *page, uint64_t number, int line) {
    buffer_padded(page, number, 12);
    for (int column = 0; column < 32; column++) {
        buffer_add(page, (number >> (column + line) % 48) & 1 ? "##" : "  ", 2);
    }
    buffer_text(page, "\n");
}

uint32_t print_ticket(struct buffer *page, uint64_t number, unsigned seat) {
    injected_delay();
    page->size = 0;
    buffer_text(page, "seat ");
    buffer_number(page, seat);
    for (int line = 0; line < LINES; line++) {
        draw_line(page, number * 2654435761u, line);
    }
    return crc_of(page->bytes, page->size);
}
