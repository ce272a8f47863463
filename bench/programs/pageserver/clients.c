// Requests as browsers send them; those that have seen a page before ask for it only if it has changed.
#include "pageserver.h"

#include "roll.h"

enum { PAGES = 40 };

void next_request(struct clients *clients, uint64_t number) {
    struct buffer *request = &clients->request;
    request->size = 0;
    buffer_text(request, "GET /figures/page-");
    buffer_number(request, roll_below(&clients->random, PAGES));
    buffer_text(request, " WEB/1\r\nHost: figures.example\r\nAccept: text/html, text/plain\r\nClient: ");
    buffer_hex(request, roll(&clients->random), 8);
    buffer_text(request, "\r\n");
    if (roll_below(&clients->random, 100) < clients->conditional_percent) {
        buffer_text(request, "If-Version: ");
        buffer_number(request, number / LIFETIME);
        buffer_text(request, "\r\n");
    }
    buffer_text(request, "Serial: ");
    buffer_number(request, number);
    buffer_text(request, "\r\n\r\n");
}
