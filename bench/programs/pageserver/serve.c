// One request: parse, look up or render, answer.
#include "pageserver.h"

#include <string.h>

#include "digest.h"
#include "words.h"

static void answer(struct server *server, int status, const char *body, size_t size) {
    server->reply.size = 0;
    compose_reply(&server->reply, status, body, size);
    server->digest = server->digest * 31 + adler_of(server->reply.bytes, server->reply.size);
}

static bool is_unchanged(const struct message *request, const struct entry *entry) {
    const char *known = find_header(request, "If-Version");
    uint64_t version;
    return known && read_number(known, &version) && version == entry->version;
}

static struct entry *page_for(struct server *server, const char *path) {
    struct entry *entry = cache_get(&server->cache, path);
    if (!entry) {
        render_page(&server->page, path, server->now);
        entry = cache_put(&server->cache, path, &server->page, server->now);
    }
    return entry;
}

static void serve_page(struct server *server, const struct message *request) {
    struct entry *entry = page_for(server, request->path);
    if (is_unchanged(request, entry)) {
        answer(server, 304, "", 0);
        server->unchanged++;
        return;
    }
    answer(server, 200, entry->body, entry->size);
    server->whole++;
    cache_release(&server->cache, entry);
}

void serve(struct server *server, const char *bytes, size_t size) {
    struct message request;
    server->now++;
    if (!parse_message(bytes, size, &server->arena, &request) || strlen(request.path) >= PATH_BYTES) {
        answer(server, 400, "", 0);
        server->refused++;
    } else {
        serve_page(server, &request);
    }
    if (server->now % 50 == 0) {
        journal_write(&server->journal, JOURNAL_NOTICE, server->now, "server", request.path, server->whole);
    }
    cache_expire(&server->cache, server->now);
    arena_clear(&server->arena);
}

void server_close(struct server *server) {
    cache_clear(&server->cache);
    arena_clear(&server->arena);
    buffer_free(&server->page);
    buffer_free(&server->reply);
    journal_free(&server->journal);
}
