/* A thread measures and tells a loop of each value; the loop keeps a journal. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { ROOM = 1 << 16 };

static uv_async_t told;
static uv_mutex_t lock;
static uv_cond_t has_room;
static unsigned values[ROOM], waiting, count, kept, sum;

static void measure(void *nothing) {
    (void)nothing;
    for (unsigned i = 0; i < count; i++) {
        unsigned value = i;
        for (int j = 0; j < 40; j++)
            value = value * 1664525u + 1013904223u;
        uv_mutex_lock(&lock);
        while (waiting == ROOM)
            uv_cond_wait(&has_room, &lock);
        values[waiting++] = value;
        uv_mutex_unlock(&lock);
        uv_async_send(&told);
    }
}

static void keep(uv_async_t *handle) {
    static unsigned taken[ROOM];
    uv_mutex_lock(&lock);
    unsigned number = waiting;
    for (unsigned i = 0; i < number; i++)
        taken[i] = values[i];
    waiting = 0;
    uv_cond_signal(&has_room);
    uv_mutex_unlock(&lock);
    for (unsigned i = 0; i < number; i++) {
        char line[64];
        int length = snprintf(line, sizeof line, "%u %x %u\n", kept + i, taken[i], taken[i] % 1000);
        for (int at = 0; at < length; at++)
            sum = sum * 31 + (unsigned char)line[at];
    }
    kept += number;
    if (kept == count)
        uv_close((uv_handle_t *)handle, NULL);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: journal COUNT\n");
        return 2;
    }
    count = (unsigned)atoi(argv[1]);
    uv_thread_t thread;
    if (uv_mutex_init(&lock) || uv_cond_init(&has_room) || uv_async_init(uv_default_loop(), &told, keep) ||
        uv_thread_create(&thread, measure, NULL))
        return 1;
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_thread_join(&thread);
    printf("%u %08x\n", kept, sum);
    return 0;
}
