// What a worker does: answers its share of the requests, then waits to be told to leave.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digest.h"
#include "herd.h"
#include "journal.h"
#include "lookup.h"
#include "message.h"
#include "pack.h"

struct pages {
    struct lookup made; // path to page
    struct arena arena;
};

static const struct buffer *page_of(struct pages *pages, const struct message *request) {
    struct buffer **slot = (struct buffer **)lookup_slot(&pages->made, request->path);
    if (!*slot) {
        struct buffer *page = *slot = arena_take(&pages->arena, sizeof *page);
        for (int i = 0; i < 20; i++) {
            buffer_text(page, "<p>");
            buffer_quoted(page, request->path);
            buffer_hex(page, name_hash(request->path) + (uint32_t)i, 8);
            buffer_text(page, "</p>\n");
        }
    }
    return *slot;
}

static uint64_t answer(struct pages *pages, struct journal *journal, const struct buffer *text, uint64_t serial) {
    struct arena arena = {0};
    struct message request;
    struct buffer packed = {0}, reply = {0};
    uint64_t digest = 0;
    if (parse_message(text->bytes, text->size, &arena, &request)) {
        const struct buffer *page = page_of(pages, &request);
        pack(page->bytes, page->size, &packed);
        compose_reply(&reply, 200, packed.bytes, packed.size);
        digest = crc_of(reply.bytes, reply.size);
        journal_write(journal, JOURNAL_NOTICE, serial, request.path, "answered", reply.size);
    }
    buffer_free(&packed);
    buffer_free(&reply);
    arena_clear(&arena);
    return digest;
}

static void wait_for_wake(const struct slot *slot) {
    char byte[512];
    int connection = accept(slot->listener, NULL, NULL);
    if (connection >= 0) {
        while (recv(connection, byte, sizeof byte, 0) > 0) {
        }
        close(connection);
    }
}

_Noreturn void run_worker(const struct slot *slot, uint32_t seed, uint32_t requests, bool leaves_early) {
    struct pages pages = {0};
    struct journal journal = {.least = JOURNAL_NOTICE};
    struct buffer text = {0};
    uint64_t digest = 0;
    for (uint32_t i = 0; i < requests; i++) {
        text.size = 0;
        compose_request(&text, "shop.example", seed * 1000 + i % 400, i % 3 * 100);
        digest ^= answer(&pages, &journal, &text, i);
    }
    if (!leaves_early) {
        wait_for_wake(slot);
    }
    exit(digest == 1);
}
