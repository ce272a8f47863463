// Reads a file through io_uring, with and without a polling kernel thread, and waits for completions.
#include <fcntl.h>
#include <liburing.h>
#include <string.h>

#include "work.h"

static int reads(unsigned flags) {
    struct io_uring ring;
    int failed = io_uring_queue_init(64, &ring, flags);
    if (failed) {
        printf("%s\n", strerror(-failed));
        return 0;
    }
    int file = open("/proc/self/exe", O_RDONLY), done = 0;
    static char buffers[64][512];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 64; i++) {
            struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
            MUST(entry);
            io_uring_prep_read(entry, file, buffers[i], 512, (unsigned)i * 64);
        }
        MUST(io_uring_submit(&ring) == 64);
        for (int i = 0; i < 64; i++) {
            struct io_uring_cqe *end;
            MUST(io_uring_wait_cqe(&ring, &end) == 0);
            done += end->res == 512;
            io_uring_cqe_seen(&ring, end);
        }
        burn(0.002);
    }
    io_uring_queue_exit(&ring);
    close(file);
    return done;
}

int main(void) {
    printf("%d\n", reads(0));
    printf("%d\n", reads(IORING_SETUP_SQPOLL));
    return 0;
}
