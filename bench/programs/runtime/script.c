// The program that runs on the runtime: requests of sessions, each of which leaves a little behind and much garbage.
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "roll.h"

enum { SESSION_SLOTS = 64, HISTORY = 4 };

void script_open(struct script_state *state) {
    memset(state, 0, sizeof *state);
    state->random = 4711;
    state->journal.least = JOURNAL_NOTICE;
    void **frame = frame_push(1);
    state->sessions = new_table(SESSION_SLOTS);
    frame[0] = state->sessions;
}

static struct value *parse_path(uint32_t number) {
    char path[64];
    int size = snprintf(path, sizeof path, "/area-%u/item-%u/view", number % 12, number % 97);
    struct value *parts = NULL;
    for (const char *at = path + 1, *end = path + size; at < end;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t length = (size_t)((slash ? slash : end) - at);
        parts = new_pair(new_text(at, length), parts);
        at += length + 1;
    }
    return parts;
}

// A tree of the answer's parts, as a template engine makes it.
static struct value *render(struct script_state *state, int depth) {
    if (depth == 0) {
        return new_number(roll_below(&state->random, 100000));
    }
    struct value *list = NULL;
    for (int branch = 0; branch < 2; branch++) {
        list = new_pair(render(state, depth - 1), list);
    }
    return list;
}

static struct value *buffers(struct script_state *state, int count) {
    struct value *last = NULL;
    char text[200];
    for (int i = 0; i < count; i++) {
        size_t size = 40 + roll_below(&state->random, 150);
        memset(text, 'a' + i % 26, size);
        last = new_text(text, size);
    }
    return last;
}

static struct value *shortened(const struct value *history) {
    struct value *kept = NULL;
    for (int i = 0; history && i < HISTORY; history = history->as.pair.rest, i++) {
        kept = new_pair(history->as.pair.first, kept);
    }
    return kept;
}

static void remember(struct script_state *state, uint32_t number, struct value *path) {
    char name[24];
    snprintf(name, sizeof name, "session-%u", number % 40);
    struct value *history = table_find(state->sessions, name);
    if (list_length(history) > HISTORY) {
        history = shortened(history);
    }
    table_store(state->sessions, name, new_pair(path, history));
}

void script_request(struct script_state *state, uint32_t number) {
    void **frame = frame_push(4);
    struct value *path = frame[0] = parse_path(number);
    struct value *tree = frame[1] = render(state, 4);
    struct value *last = frame[2] = buffers(state, 16);
    state->digest = state->digest * 33 + value_digest(tree) + value_digest(path) + value_digest(last);
    uint32_t client = 0x20000000u + roll_below(&state->random, 1 << 20);
    state->reply.size = 0;
    buffer_text(&state->reply, "via ");
    buffer_number(&state->reply, route_for(client));
    buffer_text(&state->reply, " digest ");
    buffer_hex(&state->reply, state->digest, 16);
    state->digest ^= crc_of(state->reply.bytes, state->reply.size);
    remember(state, number, path);
    frame_pop(4);
}

void script_close(struct script_state *state) {
    buffer_free(&state->reply);
    journal_free(&state->journal);
}
