// A client sends requests and receives answers through io_uring; stalled: the server computes once before it answers.
//     ring normal|stalled
#include <liburing.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS = 40, LATE = 25 };

__attribute__((noinline)) static void prepare(double seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (volatile int step = 0; step < 1000000; step++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
}

static void serve(int end, int stalled) {
    char request[16];
    for (int turn = 0; read(end, request, sizeof request) > 0; turn++) {
        prepare(stalled && turn == LATE ? 1.2 : 0.003);
        if (write(end, "done", 4) != 4)
            return;
    }
}

__attribute__((noinline)) static int completed(struct io_uring *ring) {
    struct io_uring_cqe *answer;
    io_uring_submit(ring);
    if (io_uring_wait_cqe(ring, &answer))
        return -1;
    int got = answer->res;
    io_uring_cqe_seen(ring, answer);
    return got;
}

__attribute__((noinline)) static int ask(struct io_uring *ring, int end) {
    char answer[16];
    io_uring_prep_send(io_uring_get_sqe(ring), end, "request", 7, 0);
    if (completed(ring) != 7)
        return -1;
    io_uring_prep_recv(io_uring_get_sqe(ring), end, answer, sizeof answer, 0);
    return completed(ring);
}

int main(int argc, char **argv) {
    int ends[2], stalled = argc > 1 && !strcmp(argv[1], "stalled");
    struct io_uring ring;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || io_uring_queue_init(8, &ring, 0))
        return 1;
    if (fork() == 0) {
        close(ends[0]);
        serve(ends[1], stalled);
        return 0;
    }
    close(ends[1]);
    for (int turn = 0; turn < REQUESTS && ask(&ring, ends[0]) > 0; turn++)
        ;
    io_uring_queue_exit(&ring);
    close(ends[0]);
    wait(NULL);
    return 0;
}
