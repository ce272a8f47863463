// A GLib main loop that shows what threads hand to it. A client waits until its item is shown.
//
// late: the loader of that item was late, while a gossip thread keeps the loop busy with items of its own.
// busy: the loop was busy with another thread's import when the item came.
#include <glib.h>
#include <string.h>

typedef struct {
    GMutex mutex;
    GCond shown;
    gboolean done;
} Item;

static GMainLoop *loop;
static gboolean stalled, late, ended;

static volatile guint64 sink;

static void work(int milliseconds) {
    gint64 end = g_get_monotonic_time() + milliseconds * 1000;
    while (g_get_monotonic_time() < end)
        for (int i = 0; i < 1000; i++)
            sink += i;
}

static __attribute__((noinline)) void decode_image(int milliseconds) {
    work(milliseconds);
}

static __attribute__((noinline)) gboolean import_catalogue(gpointer milliseconds) {
    work(GPOINTER_TO_INT(milliseconds));
    return G_SOURCE_REMOVE;
}

static gboolean show_item(gpointer data) {
    Item *item = data;
    g_mutex_lock(&item->mutex);
    item->done = TRUE;
    g_cond_signal(&item->shown);
    g_mutex_unlock(&item->mutex);
    return G_SOURCE_REMOVE;
}

static gboolean show_gossip(gpointer text) {
    g_free(text);
    return G_SOURCE_REMOVE;
}

static gboolean tick(gpointer unused) {
    return !ended;
}

static gpointer gossip(gpointer unused) {
    for (int i = 0; !ended; i++) {
        g_idle_add(show_gossip, g_strdup_printf("%d", i));
        g_usleep(3000);
    }
    return NULL;
}

static gpointer importer(gpointer unused) {
    for (int turn = 0; turn < 70; turn++) {
        g_usleep(20000);
        g_idle_add(import_catalogue, GINT_TO_POINTER(!late && stalled && turn == 60 ? 1200 : 1));
    }
    return NULL;
}

static GAsyncQueue *wanted;

static gpointer loader(gpointer unused) {
    for (int turn = 0; turn < 100; turn++) {
        Item *item = g_async_queue_pop(wanted);
        decode_image(late && stalled && turn == 60 ? 1200 : 1);
        g_idle_add(show_item, item);
    }
    return NULL;
}

static __attribute__((noinline)) void await_item(Item *item) {
    g_mutex_lock(&item->mutex);
    while (!item->done)
        g_cond_wait(&item->shown, &item->mutex);
    g_mutex_unlock(&item->mutex);
}

static gpointer client(gpointer unused) {
    for (int turn = 0; turn < 100; turn++) {
        Item item = {0};
        g_mutex_init(&item.mutex);
        g_cond_init(&item.shown);
        g_async_queue_push(wanted, &item);
        await_item(&item);
        g_usleep(15000);
    }
    ended = TRUE;
    g_main_loop_quit(loop);
    return NULL;
}

int main(int argc, char **argv) {
    stalled = argc > 1 && strcmp(argv[1], "stalled") == 0;
    late = argc > 2 && strcmp(argv[2], "late") == 0;
    loop = g_main_loop_new(NULL, FALSE);
    wanted = g_async_queue_new();
    g_timeout_add(10, tick, NULL);
    GThread *threads[] = {g_thread_new("gossip", gossip, NULL), g_thread_new("importer", importer, NULL),
                          g_thread_new("loader", loader, NULL), g_thread_new("client", client, NULL)};
    g_main_loop_run(loop);
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    return 0;
}
