// Queues of tasks: one whose tasks bring their own function, one with a function that runs all.
//
// tasks TURNS MICROSECONDS: so many of both, with so long a pause after each.
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

struct queue {
    long unused;
    void (*work)(void *task);
};

static void *waiting;

__attribute__((noinline)) void put_with_function(struct queue *queue, void *task) {
    asm volatile("" ::"r"(queue));
    waiting = task;
}

__attribute__((noinline)) void work_on(void *task) {
    asm volatile("" ::"r"(task));
}

__attribute__((noinline)) void put_plain(int priority, void *task) {
    asm volatile("" ::"r"(priority));
    waiting = task;
}

__attribute__((noinline)) void run_plain(void *task) {
    asm volatile("" ::"r"(task));
}

int main(int count, char **words) {
    static struct queue queue = {0, work_on};
    int turns = count > 1 ? atoi(words[1]) : 20, pause = count > 2 ? atoi(words[2]) : 2000;
    for (long turn = 1; turn <= turns; turn++) {
        put_with_function(&queue, (void *)turn);
        if (pause)
            usleep((useconds_t)pause);
        queue.work(waiting);
        put_plain(3, (void *)-turn);
        run_plain(waiting);
    }
    printf("done 1\n");
    return 0;
}
