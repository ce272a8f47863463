// kiosk PRINTING.so REQUESTS REFUSED: sells that many tickets; REFUSED customers are on a list.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kiosk.h"
#include "roll.h"

struct worker {
    struct office *office;
    unsigned number;
    pthread_t thread;
};

static void *serve_customers(void *argument) {
    struct worker *worker = argument;
    struct buffer page = {0};
    struct request request;
    while (queue_take(&worker->office->queue, &request)) {
        sell(worker->office, worker->number, request, &page);
    }
    buffer_free(&page);
    return NULL;
}

int main(int argc, char **argv) {
    static struct office office;
    void *printing = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
    *(void **)&office.print_ticket = printing ? dlsym(printing, "print_ticket") : NULL;
    FILE *receipts = tmpfile();
    if (!office.print_ticket || !receipts) {
        fprintf(stderr, "usage: kiosk PRINTING.so REQUESTS REFUSED\n%s\n", printing ? "" : dlerror());
        return 2;
    }
    office.receipts = fileno(receipts);
    customers_load(&office.customers, (unsigned)atol(argv[3]));
    struct worker workers[WORKERS];
    for (unsigned number = 0; number < WORKERS; number++) {
        bank_open(&office.banks[number]);
        workers[number] = (struct worker){.office = &office, .number = number};
        if (pthread_create(&workers[number].thread, NULL, serve_customers, &workers[number]) != 0) {
            return 1;
        }
    }
    uint32_t random = 7;
    for (uint64_t number = 0; number < (uint64_t)atol(argv[2]); number++) {
        queue_put(&office.queue, (struct request){number, roll(&random)});
    }
    queue_close(&office.queue);
    for (unsigned number = 0; number < WORKERS; number++) {
        pthread_join(workers[number].thread, NULL);
        bank_close(&office.banks[number]);
    }
    printf("sold %lu refused %lu\n", office.sold, office.refused);
    return 0;
}
