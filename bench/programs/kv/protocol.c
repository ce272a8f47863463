// Commands and replies as bytes: *count, then $size and the bytes of each word.
#include <stdlib.h>
#include <string.h>

#include "kv.h"

static void add_count(struct buffer *out, char mark, uint64_t count) {
    buffer_add(out, &mark, 1);
    buffer_number(out, count);
    buffer_add(out, "\r\n", 2);
}

static void add_bulk(struct buffer *out, const char *bytes, size_t size) {
    add_count(out, '$', size);
    buffer_add(out, bytes, size);
    buffer_add(out, "\r\n", 2);
}

void encode_command(struct buffer *out, const char *const *words, int count) {
    add_count(out, '*', (uint64_t)count);
    for (int i = 0; i < count; i++) {
        add_bulk(out, words[i], strlen(words[i]));
    }
}

static const char *decode_count(const char *at, const char *end, char mark, size_t *count) {
    if (at >= end || *at != mark) {
        return NULL;
    }
    *count = 0;
    for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
        *count = *count * 10 + (size_t)(*at - '0');
    }
    return end - at >= 2 && at[0] == '\r' && at[1] == '\n' ? at + 2 : NULL;
}

// Returns how many bytes the first command takes, 0 if it is not complete or damaged.
size_t decode_command(const char *bytes, size_t size, struct arena *arena, struct command *command) {
    const char *end = bytes + size;
    size_t count;
    const char *at = decode_count(bytes, end, '*', &count);
    if (!at || count > 64) {
        return 0;
    }
    command->words = arena_take(arena, count * sizeof *command->words);
    command->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        at = decode_count(at, end, '$', &length);
        if (!at || (size_t)(end - at) < length + 2) {
            return 0;
        }
        command->words[i] = arena_copy(arena, at, length);
        at += length + 2;
    }
    return (size_t)(at - bytes);
}

void reply_bulk(struct client *client, const char *bytes, size_t size) {
    add_bulk(&client->reply, bytes, size);
}

void reply_integer(struct client *client, int64_t number) {
    buffer_add(&client->reply, number < 0 ? ":-" : ":", number < 0 ? 2 : 1);
    buffer_number(&client->reply, (uint64_t)llabs(number));
    buffer_add(&client->reply, "\r\n", 2);
}

void reply_array(struct client *client, size_t length) {
    add_count(&client->reply, '*', length);
}

void reply_error(struct client *client, const char *text) {
    buffer_text(&client->reply, "-ERR ");
    buffer_text(&client->reply, text);
    buffer_add(&client->reply, "\r\n", 2);
}

void reply_deferred_part(struct client *client, const char *bytes, size_t size) {
    if (client->deferred_count == client->deferred_room) {
        client->deferred_room = client->deferred_room ? client->deferred_room * 2 : 8;
        client->deferred = realloc(client->deferred, client->deferred_room * sizeof *client->deferred);
        if (!client->deferred) {
            abort();
        }
    }
    struct buffer *part = &client->deferred[client->deferred_count++];
    memset(part, 0, sizeof *part);
    add_bulk(part, bytes, size);
}

// The length is known now: it goes before the parts, which are copied behind it.
void reply_deferred_join(struct client *client) {
    add_count(&client->reply, '*', client->deferred_count);
    for (size_t i = 0; i < client->deferred_count; i++) {
        buffer_add(&client->reply, client->deferred[i].bytes, client->deferred[i].size);
        buffer_free(&client->deferred[i]);
    }
    client->deferred_count = 0;
}
