// A database of orders: written when the number of lookups is left out, else looked up in an order of its own.
#include <fcntl.h>
#include <gdbm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_orders(GDBM_FILE file, unsigned orders) {
    char key[32], text[64];
    for (unsigned k = 0; k < orders; k++) {
        int length = snprintf(key, sizeof key, "order-%u", k);
        int size = snprintf(text, sizeof text, "%u pieces of article %u", k % 17, k * 31 % 997);
        if (gdbm_store(file, (datum){key, length}, (datum){text, size}, GDBM_REPLACE)) {
            return 1;
        }
    }
    return 0;
}

static unsigned look_up(GDBM_FILE file, unsigned orders, unsigned lookups) {
    char key[32];
    unsigned found = 0, at = 1;
    for (unsigned k = 0; k < lookups; k++) {
        at = at * 1664525u + 1013904223u;
        int length = snprintf(key, sizeof key, "order-%u", (at >> 8) % orders);
        datum text = gdbm_fetch(file, (datum){key, length});
        found += text.dptr != NULL;
        free(text.dptr);
    }
    return found;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: orders FILE ORDERS [LOOKUPS]\n");
        return 2;
    }
    const unsigned orders = (unsigned)atoi(argv[2]);
    GDBM_FILE file = gdbm_open(argv[1], 8192, argc > 3 ? GDBM_READER : GDBM_NEWDB, 0644, NULL);
    if (!file) {
        fprintf(stderr, "orders: %s cannot be opened\n", argv[1]);
        return 1;
    }
    if (argc == 3) {
        return write_orders(file, orders) || gdbm_close(file);
    }
    printf("%u found\n", look_up(file, orders, (unsigned)atoi(argv[3])));
    return gdbm_close(file);
}
