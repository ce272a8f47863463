/* Keeps sets of visitors: members, whose numbers are ranges, and guests, who come one by one. */
#include <roaring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 24, GUESTS = 16000, MEMBERS = 6000 };

static roaring_bitmap_t *members(int packed) {
    roaring_bitmap_t *set = roaring_bitmap_create();
    for (uint32_t part = 0; part < PARTS; part++)
        for (uint32_t number = 0; number < MEMBERS; number++)
            roaring_bitmap_add(set, part * 65536 + number);
    if (packed)
        roaring_bitmap_run_optimize(set);
    return set;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: visitors kept|packed DAYS\n");
        return 2;
    }
    uint64_t seen = 0, asked = 0;
    for (int day = 0; day < atoi(argv[2]); day++) {
        roaring_bitmap_t *set = members(!strcmp(argv[1], "packed"));
        for (uint32_t part = 0; part < PARTS; part++)
            for (uint32_t i = 0; i < GUESTS; i++)
                roaring_bitmap_add(set, part * 65536 + (MEMBERS + 2 * ((i + (uint32_t)day) * 7919 % 29000)));
        for (uint32_t i = 0; i < PARTS * 65536; i++)
            asked += roaring_bitmap_contains(set, i * 40503 % (PARTS * 65536));
        seen += roaring_bitmap_get_cardinality(set);
        roaring_bitmap_free(set);
    }
    printf("%lu %lu\n", seen, asked);
    return 0;
}
