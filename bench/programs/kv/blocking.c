// Clients that wait for a key to be filled.
#include <stdlib.h>

#include "kv.h"

struct waiting {
    struct client *head, *tail;
    size_t count;
};

static void unlink_client(struct waiting *waiting, struct client *client) {
    *(client->previous ? &client->previous->next : &waiting->head) = client->next;
    *(client->next ? &client->next->previous : &waiting->tail) = client->previous;
    waiting->count--;
}

static void append_client(struct waiting *waiting, struct client *client) {
    client->previous = waiting->tail;
    client->next = NULL;
    *(waiting->tail ? &waiting->tail->next : &waiting->head) = client;
    waiting->tail = client;
    waiting->count++;
}

static __attribute__((noinline)) void rotate(struct waiting *waiting, struct client *client) {
    unlink_client(waiting, client);
    append_client(waiting, client);
}

void block_client(struct server *server, struct client *client, const char *key, enum kind kind) {
    struct waiting **slot = (struct waiting **)lookup_slot(&server->waiting, key);
    if (!*slot && !(*slot = calloc(1, sizeof **slot))) {
        abort();
    }
    client->blocked = true;
    client->waits_for = kind;
    client->waits_at = *slot;
    append_client(*slot, client);
}

static void unblock(struct waiting *waiting, struct client *client, const struct item *item) {
    unlink_client(waiting, client);
    client->blocked = false;
    client->served++;
    client->reply.size = 0;
    reply_bulk(client, item->bytes, item->size);
}

// Gives what the list holds to those who wait for it, in turn. All of them get their turn, also when the list has
// been emptied by the first.
void serve_blocked(struct server *server, const char *key) {
    struct waiting *waiting = lookup_find(&server->waiting, key);
    struct value *value = value_at(server, key, KIND_LIST, false);
    if (!waiting || !value) {
        return;
    }
    size_t numclients = waiting->count;
    while (numclients--) {
        struct client *client = waiting->head;
        struct item *item = client->waits_for == KIND_LIST ? list_pop(&value->list) : NULL;
        if (!item) {
            rotate(waiting, client);
            continue;
        }
        unblock(waiting, client, item);
        free(item);
    }
}
