// Pages: a title, a table of figures, links.
#include "pageserver.h"

#include <string.h>

#include "digest.h"
#include "roll.h"

static void add_row(struct buffer *page, uint32_t *random, int row) {
    buffer_text(page, "<tr><td>");
    buffer_padded(page, (uint64_t)row, 3);
    for (int column = 0; column < 4; column++) {
        buffer_text(page, "</td><td>");
        buffer_number(page, roll_below(random, 100000));
    }
    buffer_text(page, "</td></tr>\n");
}

void render_page(struct buffer *page, const char *path, uint64_t now) {
    uint32_t random = (uint32_t)mix_of(path, strlen(path), now) | 1;
    page->size = 0;
    buffer_text(page, "<html><title>");
    buffer_quoted(page, path);
    buffer_text(page, "</title><table>\n");
    int rows = 8 + (int)roll_below(&random, 16);
    for (int row = 0; row < rows; row++) {
        add_row(page, &random, row);
    }
    buffer_text(page, "</table><p>");
    for (int link = 0; link < 5; link++) {
        buffer_text(page, "<a href=\"/see/");
        buffer_hex(page, roll(&random), 8);
        buffer_text(page, "\">more</a> ");
    }
    buffer_text(page, "</html>\n");
}
