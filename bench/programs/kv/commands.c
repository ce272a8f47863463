// What each command does.
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "kv.h"
#include "words.h"

static void set(struct server *server, struct client *client, char **words) {
    struct value *value = value_at(server, words[1], KIND_STRING, true);
    value->text.size = 0;
    buffer_text(&value->text, words[2]);
    reply_integer(client, slot_of(words[1]));
}

static void get(struct server *server, struct client *client, char **words) {
    struct value *value = value_at(server, words[1], KIND_STRING, false);
    if (value) {
        reply_bulk(client, value->text.bytes, value->text.size);
    } else {
        reply_integer(client, -1);
    }
}

static void push(struct server *server, struct client *client, char **words) {
    struct value *value = value_at(server, words[1], KIND_LIST, true);
    list_push(&value->list, words[2], strlen(words[2]));
    reply_integer(client, (int64_t)value->list.length);
    serve_blocked(server, words[1]);
}

static void blocking_pop(struct server *server, struct client *client, char **words) {
    struct value *value = value_at(server, words[1], KIND_LIST, true);
    struct item *item = list_pop(&value->list);
    if (item) {
        reply_bulk(client, item->bytes, item->size);
        free(item);
    } else {
        block_client(server, client, words[1], KIND_LIST);
    }
}

static void add_scored(struct server *server, struct client *client, char **words) {
    struct value *value = value_at(server, words[1], KIND_SORTED, true);
    sorted_add(&value->sorted, words[3], strtod(words[2], NULL));
    reply_integer(client, (int64_t)value->sorted.length);
}

static void range(struct server *server, struct client *client, char **words) {
    uint64_t first, last;
    if (!read_number(words[2], &first) || !read_number(words[3], &last)) {
        reply_error(client, "ranks are numbers");
        return;
    }
    range_by_rank(client, value_at(server, words[1], KIND_SORTED, false), first, last);
}

static void cluster_nodes(struct server *server, struct client *client, char **words) {
    struct buffer text = {0};
    (void)words;
    describe_nodes(server, &text);
    reply_bulk(client, text.bytes, text.size);
    buffer_free(&text);
}

static const struct {
    const char *name;
    int words;
    void (*run)(struct server *server, struct client *client, char **words);
} commands[] = {{"set", 3, set},         {"get", 2, get},      {"rpush", 3, push},           {"blpop", 2, blocking_pop},
                {"zadd", 4, add_scored}, {"zrange", 4, range}, {"cluster", 2, cluster_nodes}};

void execute(struct server *server, struct client *client, const struct command *command) {
    server->commands++;
    server->now_ms += server->commands % 16 == 0;
    client->reply.size = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (compare_caseless(commands[i].name, command->words[0]) == 0 && commands[i].words == command->count) {
            commands[i].run(server, client, command->words);
            return;
        }
    }
    reply_error(client, "no such command");
}
