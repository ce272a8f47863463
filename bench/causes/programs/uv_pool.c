// A libuv loop that has lookups done by libuv's pool of four threads, one every 20 ms.
//
// Stalled: four archives, on a slow disk, are in the pool's threads when a lookup comes.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

static int stalled, turn;
static uv_timer_t clock_of_turns;

static void rest(int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static __attribute__((noinline)) void write_to_slow_disk(int milliseconds) {
    rest(milliseconds);
}

static void archive(uv_work_t *request) {
    write_to_slow_disk(stalled ? 1200 : 2);
    (void)request;
}

static void look_up(uv_work_t *request) {
    (void)request;
    rest(1);
}

static void done(uv_work_t *request, int status) {
    (void)status;
    free(request);
}

static void queue(uv_loop_t *loop, uv_work_cb work) {
    uv_queue_work(loop, calloc(1, sizeof(uv_work_t)), work, done);
}

static void on_turn(uv_timer_t *timer) {
    turn++;
    if (turn == 60)
        for (int i = 0; i < 4; i++)
            queue(timer->loop, archive);
    queue(timer->loop, look_up);
    if (turn == 130)
        uv_timer_stop(timer);
}

int main(int argc, char **argv) {
    stalled = argc > 1 && strcmp(argv[1], "stalled") == 0;
    uv_timer_init(uv_default_loop(), &clock_of_turns);
    uv_timer_start(&clock_of_turns, on_turn, 20, 20);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
