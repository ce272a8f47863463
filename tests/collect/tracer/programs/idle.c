// A GLib main loop as it is installed, without its headers. Half of the tasks have a function that lies in no file.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *g_main_loop_new(void *context, int running);
void g_main_loop_run(void *loop);
void g_main_loop_quit(void *loop);
unsigned g_idle_add(int (*function)(void *), void *data);

static int stop(void *loop) {
    g_main_loop_quit(loop);
    return 0;
}

#ifdef __aarch64__
static const unsigned RETURN_0[] = {0x52800000, 0xd65f03c0};
#else
static const unsigned char RETURN_0[] = {0x31, 0xc0, 0xc3};
#endif

int main(void) {
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*made_now)(void *);
    memcpy(made, RETURN_0, sizeof RETURN_0);
    __builtin___clear_cache((char *)made, (char *)made + sizeof RETURN_0);
    memcpy(&made_now, &made, sizeof made);
    for (int turn = 0; turn < 400; turn++) {
        void *loop = g_main_loop_new(NULL, 0);
        g_idle_add(made_now, NULL);
        g_idle_add(stop, loop);
        g_main_loop_run(loop);
        usleep(5000);
    }
    return 0;
}
