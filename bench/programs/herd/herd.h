// A server of several processes: a parent that starts, wakes and replaces workers, and workers that answer requests.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

enum { MOST_WORKERS = 64 };

enum worker_status { WORKER_NONE, WORKER_READY, WORKER_GONE };

struct slot {
    pid_t pid;
    enum worker_status status;
    int listener; // the parent keeps it only until the worker has it
    struct sockaddr_un address;
    socklen_t address_size;
};

struct scoreboard {
    struct slot slots[MOST_WORKERS];
    int count;
    uint32_t generation;
    uint64_t wakes, refused;
};

bool start_worker(struct scoreboard *board, int number, uint32_t requests, bool leaves_early);
void note_gone(struct scoreboard *board, int wanted);
void wake_all(struct scoreboard *board);
_Noreturn void run_worker(const struct slot *slot, uint32_t seed, uint32_t requests, bool leaves_early);
