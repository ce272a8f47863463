// Orders of a shop as JSON: a day's orders are collected in one array, looked at, written out and read back.
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUSTOMERS = 500, LINES = 4 };

static void check(const void *made) {
    if (!made) {
        fprintf(stderr, "orders: out of memory\n");
        exit(1);
    }
}

static unsigned next_random(unsigned *state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

static cJSON *order_of(unsigned number, unsigned *chance) {
    char name[32];
    cJSON *order = cJSON_CreateObject();
    check(order);
    snprintf(name, sizeof name, "customer-%u", next_random(chance) % CUSTOMERS);
    check(cJSON_AddNumberToObject(order, "number", number));
    check(cJSON_AddStringToObject(order, "customer", name));
    cJSON *lines = cJSON_AddArrayToObject(order, "lines");
    check(lines);
    for (unsigned k = 0; k < LINES; k++) {
        cJSON *line = cJSON_CreateObject();
        check(line);
        check(cJSON_AddNumberToObject(line, "article", next_random(chance) % 10000));
        check(cJSON_AddNumberToObject(line, "pieces", next_random(chance) % 9 + 1));
        cJSON_AddItemToArray(lines, line);
    }
    return order;
}

static double pieces_of(const cJSON *orders) {
    double pieces = 0;
    const cJSON *order, *line;
    cJSON_ArrayForEach(order, orders) {
        cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(order, "lines")) {
            pieces += cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(line, "pieces"));
        }
    }
    return pieces;
}

static double one_day(unsigned orders_a_day, unsigned *chance) {
    cJSON *orders = cJSON_CreateArray();
    check(orders);
    for (unsigned number = 0; number < orders_a_day; number++) {
        cJSON_AddItemToArray(orders, order_of(number, chance));
    }
    char *text = cJSON_PrintUnformatted(orders);
    check(text);
    cJSON *again = cJSON_Parse(text);
    check(again);
    const double pieces = pieces_of(again);
    cJSON_Delete(again);
    cJSON_Delete(orders);
    free(text);
    return pieces;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: orders DAYS ORDERS\n");
        return 2;
    }
    unsigned chance = 1;
    double pieces = 0;
    for (int day = 0; day < atoi(argv[1]); day++) {
        pieces += one_day((unsigned)atoi(argv[2]), &chance);
    }
    printf("%.0f pieces\n", pieces);
    return 0;
}
