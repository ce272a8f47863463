// So many tasks through a GLib main loop, a thousand a second; prints the CPU time of the process in nanoseconds a
// task.
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int left;
static GMainLoop *loop;

static gboolean task(gpointer data) {
    if (--left == 0)
        g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static gpointer putter(gpointer count) {
    for (int i = 0; i < GPOINTER_TO_INT(count); i++) {
        g_idle_add(task, GINT_TO_POINTER(i));
        g_usleep(1000);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 2000;
    struct timespec spent;
    left = count;
    loop = g_main_loop_new(NULL, FALSE);
    g_thread_new("putter", putter, GINT_TO_POINTER(count));
    g_main_loop_run(loop);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    printf("%.0f\n", (spent.tv_sec * 1e9 + spent.tv_nsec) / count);
    return 0;
}
