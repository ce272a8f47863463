#include <string.h>
#include <unistd.h>

#include "digest.h"
#include "kiosk.h"

static __attribute__((noinline)) unsigned take_seat(struct office *office) {
    pthread_mutex_lock(&office->seats_lock);
    unsigned seat = office->first_free;
    for (unsigned tried = 0; tried < SEATS && office->seats[seat]; tried++) {
        seat = (seat + 1) % SEATS;
    }
    office->seats[seat] = 1;
    office->first_free = (seat + 1) % SEATS;
    if (office->first_free == 0) {
        memset(office->seats, 0, sizeof office->seats); // the next show
    }
    pthread_mutex_unlock(&office->seats_lock);
    return seat;
}

static __attribute__((noinline)) void write_receipt(struct office *office, const struct buffer *page, uint32_t digest) {
    struct buffer receipt = {0};
    buffer_hex(&receipt, digest, 8);
    buffer_add(&receipt, page->bytes, page->size < 64 ? page->size : 64);
    buffer_text(&receipt, "\n");
    if (write(office->receipts, receipt.bytes, receipt.size) < 0) {
        __atomic_add_fetch(&office->refused, 1, __ATOMIC_RELAXED);
    }
    buffer_free(&receipt);
}

void sell(struct office *office, unsigned worker, struct request request, struct buffer *page) {
    unsigned seat = take_seat(office);
    if (!customer_is_welcome(&office->customers, request.customer) ||
        !bank_charge(&office->banks[worker], request.number)) {
        __atomic_add_fetch(&office->refused, 1, __ATOMIC_RELAXED);
        return;
    }
    uint32_t digest = office->print_ticket(page, request.number, seat);
    write_receipt(office, page, digest);
    __atomic_add_fetch(&office->sold, 1, __ATOMIC_RELAXED);
}
