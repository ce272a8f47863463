// A server of jobs: a command is started for each, and when it has ended its result goes into a cache, which is small
// or has grown large.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { ENTRY = 4096, WARM = 1000 };

static unsigned char **cache;
static unsigned ended;

static void fill_cache(unsigned megabytes) {
    const size_t entries = (size_t)megabytes * (1 << 20) / ENTRY;
    cache = malloc(entries * sizeof *cache);
    for (size_t i = 0; cache && i < entries; i++) {
        cache[i] = malloc(ENTRY);
        if (!cache[i]) {
            fprintf(stderr, "jobs: no memory\n");
            exit(1);
        }
        memset(cache[i], (int)i, ENTRY);
    }
}

// What is known already is looked through, and one entry becomes another.
static unsigned remember(unsigned job) {
    unsigned sum = job;
    for (unsigned i = 0; i < WARM; i++) {
        const unsigned char *entry = cache[i];
        for (unsigned at = 0; at < ENTRY; at += 2) {
            sum = sum * 31 + entry[at];
        }
    }
    memset(cache[job % WARM], (int)sum, ENTRY);
    return sum;
}

static void left(uv_process_t *process, int64_t status, int signal) {
    if (status != 0 || signal != 0) {
        fprintf(stderr, "jobs: a command failed\n");
        exit(1);
    }
    ended++;
    uv_close((uv_handle_t *)process, NULL);
}

static void run(uv_loop_t *loop) {
    char program[] = "/bin/true";
    char *words[] = {program, NULL};
    const uv_process_options_t options = {.exit_cb = left, .file = program, .args = words};
    uv_process_t process;
    if (uv_spawn(loop, &process, &options) != 0) {
        fprintf(stderr, "jobs: a command does not start\n");
        exit(1);
    }
    uv_run(loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: jobs COUNT MEGABYTES\n");
        return 2;
    }
    fill_cache((unsigned)atoi(argv[2]));
    unsigned sum = 0;
    for (unsigned job = 0; job < (unsigned)atoi(argv[1]); job++) {
        run(uv_default_loop());
        sum += remember(job);
    }
    printf("%u ended, %u\n", ended, sum);
    return 0;
}
