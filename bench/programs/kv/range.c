// Members of a sorted set by rank. How their reply is begun and ended depends on the release.
#include <string.h>

#include "kv.h"

#ifndef KV_VERSION
#define KV_VERSION 2
#endif

struct emission {
    void (*begin)(struct client *client, size_t length);
    void (*emit)(struct client *client, const struct skip_node *node);
    void (*finish)(struct client *client, size_t length);
};

#if KV_VERSION == 1
static void begin_known(struct client *client, size_t length) {
    reply_array(client, length);
}

static void emit_known(struct client *client, const struct skip_node *node) {
    reply_bulk(client, node->member, strlen(node->member));
}

static void finish_known(struct client *client, size_t length) {
    (void)client, (void)length;
}

static const struct emission emission = {begin_known, emit_known, finish_known};
#else
static void begin_deferred(struct client *client, size_t length) {
    (void)length;
    client->deferred_count = 0;
}

static void emit_deferred(struct client *client, const struct skip_node *node) {
    reply_deferred_part(client, node->member, strlen(node->member));
}

static void finish_deferred(struct client *client, size_t length) {
    (void)length;
    reply_deferred_join(client);
}

static const struct emission emission = {begin_deferred, emit_deferred, finish_deferred};
#endif

// The second release serves ranges by score, whose length is unknown until the end, with the same code; ranges by
// rank are deferred along with them, though their length is known here.
void range_by_rank(struct client *client, const struct value *value, size_t first, size_t last) {
    size_t length = value ? value->sorted.length : 0;
    const struct emission *handler = &emission;
    if (last >= length) {
        last = length ? length - 1 : 0;
    }
    size_t count = first > last || !length ? 0 : last - first + 1;
    handler->begin(client, count);
    const struct skip_node *node = count ? sorted_at(&value->sorted, first) : NULL;
    for (size_t left = count; left && node; left--) {
        handler->emit(client, node);
        node = node->levels[0].next;
    }
    handler->finish(client, count);
}
