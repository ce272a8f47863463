// kv cluster NODES QUERIES | block CLIENTS PUSHES | range MEMBERS QUERIES: each among 400,000 plain reads and writes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "kv.h"
#include "roll.h"

enum { PLAIN = 400000, KEYS = 20000, BATCH = 64 };

struct script {
    struct server server;
    struct client client;
    struct buffer bytes;
    struct arena arena;
    uint64_t digest;
};

// Sends what was gathered, as a pipelining client does.
static void flush(struct script *script) {
    size_t at = 0, used;
    struct command command;
    while (at < script->bytes.size &&
           (used = decode_command(script->bytes.bytes + at, script->bytes.size - at, &script->arena, &command))) {
        execute(&script->server, &script->client, &command);
        size_t size = script->client.reply.size < 256 ? script->client.reply.size : 256;
        script->digest = mix_of(script->client.reply.bytes, size, script->digest);
        at += used;
    }
    script->bytes.size = 0;
    arena_clear(&script->arena);
}

static void plain_traffic(struct script *script, uint32_t count, uint32_t *state) {
    for (uint32_t i = 0; i < count; i++) {
        char key[24], text[48];
        snprintf(key, sizeof key, "item:%05u", roll_below(state, KEYS));
        snprintf(text, sizeof text, "value %u of %s", i, key);
        const char *words[] = {roll_below(state, 3) ? "GET" : "SET", key, text};
        encode_command(&script->bytes, words, *words[0] == 'G' ? 2 : 3);
        if (i % BATCH == BATCH - 1) {
            flush(script);
        }
    }
    flush(script);
}

static void say(struct script *script, const char *first, const char *second, const char *third, const char *fourth) {
    const char *words[] = {first, second, third, fourth};
    encode_command(&script->bytes, words, fourth ? 4 : third ? 3 : 2);
    flush(script);
}

static void cluster(struct script *script, uint32_t nodes, uint32_t queries, uint32_t *state) {
    form_cluster(&script->server, nodes);
    for (uint32_t i = 0; i < queries; i++) {
        say(script, "CLUSTER", "NODES", NULL, NULL);
        plain_traffic(script, PLAIN / queries, state);
    }
}

// Some clients wait for jobs, many more wait at the same key for something else.
static void block(struct script *script, uint32_t clients, uint32_t pushes, uint32_t *state) {
    struct client *waiting = calloc(clients + 4, sizeof *waiting);
    if (!waiting) {
        abort();
    }
    for (uint32_t i = 0; i < clients; i++) {
        waiting[i].id = i;
        block_client(&script->server, &waiting[i], "jobs", KIND_SORTED);
    }
    for (uint32_t i = 0; i < pushes; i++) {
        struct client *taker = &waiting[clients + i % 4];
        if (!taker->blocked) {
            block_client(&script->server, taker, "jobs", KIND_LIST);
        }
        char job[48];
        snprintf(job, sizeof job, "job %u for client %u", i, taker->id);
        say(script, "RPUSH", "jobs", job, NULL);
        plain_traffic(script, PLAIN / pushes, state);
    }
    for (uint32_t i = 0; i < clients + 4; i++) {
        buffer_free(&waiting[i].reply);
    }
    free(waiting);
}

static void range(struct script *script, uint32_t members, uint32_t queries, uint32_t *state) {
    for (uint32_t i = 0; i < members; i++) {
        char score[16], member[32];
        snprintf(score, sizeof score, "%u", roll_below(state, 1000000));
        snprintf(member, sizeof member, "member:%u:of-the-board", i);
        say(script, "ZADD", "board", score, member);
    }
    for (uint32_t i = 0; i < queries; i++) {
        char first[16], last[16];
        uint32_t from = roll_below(state, members / 2);
        snprintf(first, sizeof first, "%u", from);
        snprintf(last, sizeof last, "%u", from + 99);
        say(script, "ZRANGE", "board", first, last);
        plain_traffic(script, PLAIN / queries, state);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(struct script *script, uint32_t size, uint32_t count, uint32_t *state);
    } scripts[] = {{"cluster", cluster}, {"block", block}, {"range", range}};
    struct script script = {0};
    uint32_t state = 4711;
    for (size_t i = 0; argc == 4 && i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(argv[1], scripts[i].name) == 0) {
            scripts[i].run(&script, (uint32_t)atol(argv[2]), (uint32_t)atol(argv[3]), &state);
            printf("commands=%llu digest=%016llx\n", (unsigned long long)script.server.commands,
                   (unsigned long long)script.digest);
            return 0;
        }
    }
    fprintf(stderr, "usage: kv cluster NODES QUERIES | block CLIENTS PUSHES | range MEMBERS QUERIES\n");
    return 2;
}
