// The parent's view of its workers.
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "herd.h"

static bool open_listener(struct slot *slot, int number, uint32_t generation) {
    slot->address.sun_family = AF_UNIX;
    // A name without a file: it starts with a zero.
    int size = snprintf(slot->address.sun_path + 1, sizeof slot->address.sun_path - 1, "herd-%d-%u-%d", (int)getpid(),
                        generation, number);
    slot->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
    slot->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return slot->listener >= 0 && bind(slot->listener, (struct sockaddr *)&slot->address, slot->address_size) == 0 &&
           listen(slot->listener, 64) == 0;
}

bool start_worker(struct scoreboard *board, int number, uint32_t requests, bool leaves_early) {
    struct slot *slot = &board->slots[number];
    memset(slot, 0, sizeof *slot);
    if (!open_listener(slot, number, board->generation)) {
        perror("herd: listener");
        return false;
    }
    fflush(stdout);
    slot->pid = fork();
    if (slot->pid == 0) {
        run_worker(slot, board->generation * MOST_WORKERS + (uint32_t)number + 1, requests, leaves_early);
    }
    close(slot->listener);
    slot->status = slot->pid > 0 ? WORKER_READY : WORKER_NONE;
    return slot->pid > 0;
}

// Waits until so many more workers have ended.
void note_gone(struct scoreboard *board, int wanted) {
    while (wanted > 0) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR) {
            continue;
        }
        if (pid < 0) {
            return;
        }
        for (int i = 0; i < board->count; i++) {
            if (board->slots[i].pid == pid) {
                board->slots[i].status = WORKER_GONE;
            }
        }
        wanted--;
    }
}
