// A threaded ticket office: workers take requests off a queue, check the customer, take a seat, ask the bank, which is
// a thread of its own behind a socket, write a receipt, and have the ticket printed by a plug-in.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "buffer.h"

enum { SEATS = 4096, WORKERS = 3, QUEUE_ROOM = 16 };

struct request {
    uint64_t number;
    uint32_t customer;
};

// queue.c
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct request waiting[QUEUE_ROOM];
    unsigned first, count;
    int closed;
};

void queue_put(struct queue *queue, struct request request);
int queue_take(struct queue *queue, struct request *request); // 0: closed and empty
void queue_close(struct queue *queue);

// customers.c
struct customers {
    uint32_t *refused;
    unsigned refused_count;
};

void customers_load(struct customers *customers, unsigned refused_count);
int customer_is_welcome(const struct customers *customers, uint32_t customer);

// bank.c: one round trip a payment
struct bank {
    int ours, theirs;
    pthread_t thread;
};

void bank_open(struct bank *bank);
int bank_charge(struct bank *bank, uint64_t amount);
void bank_close(struct bank *bank);

// sales.c
struct office {
    struct queue queue;
    struct customers customers;
    struct bank banks[WORKERS];
    pthread_mutex_t seats_lock;
    uint8_t seats[SEATS];
    unsigned first_free;
    int receipts; // file
    uint64_t sold, refused;
    uint32_t (*print_ticket)(struct buffer *page, uint64_t number, unsigned seat);
};

void sell(struct office *office, unsigned worker, struct request request, struct buffer *page);
