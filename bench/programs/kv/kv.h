// A key-value server without sockets: clients are scripts of commands.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "buffer.h"
#include "lookup.h"

enum { SLOTS = 16384, SKIP_LEVELS = 16 };

enum kind { KIND_STRING, KIND_LIST, KIND_SORTED };

struct item {
    struct item *next, *previous;
    size_t size;
    char bytes[];
};

struct list {
    struct item *head, *tail;
    size_t length;
};

struct skip_node {
    double score;
    char *member;
    struct {
        struct skip_node *next;
        size_t span;
    } levels[];
};

struct sorted {
    struct skip_node *head;
    size_t length;
    int level;
    uint32_t dice;
};

struct value {
    enum kind kind;
    struct buffer text;
    struct list list;
    struct sorted sorted;
};

struct waiting; // clients blocked on one key

struct client {
    struct client *next, *previous; // among those that wait for the same key
    uint32_t id;
    bool blocked;
    enum kind waits_for;
    struct waiting *waits_at;
    struct buffer reply;
    struct buffer *deferred; // parts of a reply whose length is not known yet
    size_t deferred_count, deferred_room;
    uint64_t served;
};

struct cluster_node {
    char name[41];
    char address[24];
    unsigned char slots[SLOTS / 8];
    uint64_t epoch, ping, pong;
    bool linked;
};

struct server {
    struct lookup keys;
    struct lookup waiting;
    struct cluster_node *nodes;
    size_t node_count;
    uint64_t commands, now_ms;
};

struct command {
    char **words;
    int count;
};

// protocol.c
void encode_command(struct buffer *out, const char *const *words, int count);
size_t decode_command(const char *bytes, size_t size, struct arena *arena, struct command *command);
void reply_bulk(struct client *client, const char *bytes, size_t size);
void reply_integer(struct client *client, int64_t number);
void reply_array(struct client *client, size_t length);
void reply_error(struct client *client, const char *text);
void reply_deferred_part(struct client *client, const char *bytes, size_t size);
void reply_deferred_join(struct client *client);

// values.c
struct value *value_at(struct server *server, const char *key, enum kind kind, bool make);
void list_push(struct list *list, const char *bytes, size_t size);
struct item *list_pop(struct list *list);
void sorted_add(struct sorted *sorted, const char *member, double score);
const struct skip_node *sorted_at(const struct sorted *sorted, size_t rank);

void range_by_rank(struct client *client, const struct value *value, size_t first, size_t last);
void describe_nodes(const struct server *server, struct buffer *out);
uint16_t slot_of(const char *key);
void form_cluster(struct server *server, size_t nodes);
void block_client(struct server *server, struct client *client, const char *key, enum kind kind);
void serve_blocked(struct server *server, const char *key);
void execute(struct server *server, struct client *client, const struct command *command);
