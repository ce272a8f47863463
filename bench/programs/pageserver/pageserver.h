// A web server's core: requests are parsed, pages rendered and cached, replies composed. Clients may ask for a page
// only if it has changed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "buffer.h"
#include "journal.h"
#include "message.h"

enum { CHAINS = 64, PATH_BYTES = 48, LIFETIME = 120 };

// cache.c: entries live as long as somebody refers to them; the cache itself is one of those.
struct entry {
    struct entry *next;          // in its chain
    struct entry *older, *newer; // in the order of their making
    char path[PATH_BYTES];
    char *body;
    uint32_t size, version;
    uint32_t references;
    uint64_t made;
};

struct cache {
    struct entry *chains[CHAINS];
    struct entry *oldest, *newest;
    uint64_t hits, misses, expired, freed;
};

struct entry *cache_get(struct cache *cache, const char *path);
struct entry *cache_put(struct cache *cache, const char *path, const struct buffer *body, uint64_t now);
void cache_release(struct cache *cache, struct entry *entry);
void cache_expire(struct cache *cache, uint64_t now);
void cache_clear(struct cache *cache);

// render.c
void render_page(struct buffer *page, const char *path, uint64_t now);

// serve.c
struct server {
    struct cache cache;
    struct arena arena; // of one request
    struct buffer page, reply;
    struct journal journal;
    uint64_t now, unchanged, whole, refused;
    uint32_t digest;
};

void serve(struct server *server, const char *bytes, size_t size);
void server_close(struct server *server);

// clients.c
struct clients {
    uint32_t random, conditional_percent;
    struct buffer request;
};

void next_request(struct clients *clients, uint64_t number);
