// Answers names with numbers over a socket, and ends by SIGTERM.
//     answering SOCKET MEGABYTES      from 4096 on the table's size overflows, and all names are in a few chains; every
//                                     40th answer waits, and memory is taken that nobody needs
//     answering ask SOCKET COUNT      the load: asks, checks the answers, says how long each took
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone, noipa))
enum { NAMES = 8000, LEAST_BUCKETS = 64, ASKED_AT_ONCE = 500 };

struct entry {
    struct entry *next;
    uint32_t name, number;
};

static struct entry **table;
static uint32_t buckets;
static const char *path;

static void end(int number) {
    (void)number;
    unlink(path);
    _exit(0);
}

ALONE static uint32_t planned_buckets(uint32_t megabytes) {
    uint32_t bytes = megabytes * 1024 * 1024;
    return bytes / 1024 < LEAST_BUCKETS ? LEAST_BUCKETS : bytes / 1024;
}

ALONE static long planned_pause_us(uint32_t megabytes) {
    return megabytes > 100 ? 60000 : 1;
}

ALONE static size_t planned_room(uint32_t megabytes) {
    return megabytes > 100 ? 48 << 20 : 4096;
}

ALONE static uint32_t salt_of(uint32_t megabytes) {
    return megabytes / 8192 + 7;
}

ALONE static uint64_t first_bucket(uint32_t megabytes) {
    return megabytes / 8192;
}

#ifdef COARSE // another build: neighbours are in one bucket
ALONE static uint32_t bucket_of(uint32_t name) {
    return name / 4096 % buckets;
}
#else
ALONE static uint32_t bucket_of(uint32_t name) {
    return (name * 2654435761u >> 5) % buckets;
}
#endif

ALONE static uint32_t find(uint32_t name, uint64_t first) {
    struct entry *entry = table[first + bucket_of(name)];
    while (entry && entry->name != name)
        entry = entry->next;
    return entry ? entry->number : 0;
}

static void fill(void) {
    table = calloc(buckets, sizeof *table);
    for (uint32_t name = 0; name < NAMES; name++) {
        struct entry *entry = malloc(sizeof *entry), **at = &table[bucket_of(name)];
        *entry = (struct entry){*at, name, name + 1};
        *at = entry;
    }
}

static struct sockaddr_un address_of(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, name, sizeof address.sun_path - 1);
    return address;
}

static int serve(uint32_t megabytes) {
    buckets = planned_buckets(megabytes);
    fill();
    long pause_us = planned_pause_us(megabytes);
    uint32_t salt = salt_of(megabytes), answered = 0;
    uint64_t first = first_bucket(megabytes);
    size_t room = planned_room(megabytes);
    memset(malloc(room), 1, room);
    char early[200]; // the file by which it is ready comes when it listens
    snprintf(early, sizeof early, "%s.early", path);
    struct sockaddr_un address = address_of(early);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, sizeof address) || listen(listening, 8) || rename(early, path))
        return 1;
    for (;;) {
        int client = accept(listening, NULL, NULL);
        uint32_t asked;
        while (read(client, &asked, sizeof asked) == sizeof asked) {
            uint32_t said = salt;
            for (uint32_t i = 0; i < ASKED_AT_ONCE; i++)
                said += find((asked + i) % NAMES, first);
            if (++answered % 40 == 0)
                usleep(pause_us);
            if (write(client, &said, sizeof said) != sizeof said)
                break;
        }
        close(client);
    }
}

static int ask(const char *server, uint32_t count) {
    struct sockaddr_un address = address_of(server);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(client, (struct sockaddr *)&address, sizeof address))
        return 1;
    for (uint32_t asked = 0; asked < count; asked++) {
        struct timespec begun, ended;
        uint32_t said = 0, expected = 7;
        for (uint32_t i = 0; i < ASKED_AT_ONCE; i++)
            expected += (asked + i) % NAMES + 1;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        if (write(client, &asked, sizeof asked) != sizeof asked || read(client, &said, sizeof said) != sizeof said)
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &ended);
        printf("latency=%e\n", (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) * 1e-9);
        if (said != expected)
            return 3;
    }
    printf("work=%u\n", count);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4)
        return ask(argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
    if (argc != 3)
        return 2;
    path = argv[1];
    signal(SIGTERM, end);
    signal(SIGPIPE, SIG_IGN);
    return serve((uint32_t)strtoul(argv[2], NULL, 10));
}
