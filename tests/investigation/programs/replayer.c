// Replays a log: the window of pages that are written together is made by size_window(), from how much was reserved.
//     replayer RESERVED      from 4096 on nothing is left for the window, and every record is flushed alone
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 4096, RECORDS = 24000, PAGE = 600 };

static uint32_t reserve_frames;
static uint8_t page[PAGE];

__attribute__((noinline)) static uint32_t size_window(void) {
    return FRAMES > reserve_frames ? FRAMES - reserve_frames : 0;
}

__attribute__((noinline)) static uint32_t flush_page(uint32_t sum) {
    for (int at = 0; at < PAGE; at++)
        sum = sum * 31 + page[at];
    return sum;
}

__attribute__((noinline)) static uint32_t apply(uint32_t record) {
    page[record % PAGE] = (uint8_t)record;
    return record;
}

__attribute__((noinline)) static uint32_t replay(uint32_t records) {
    uint32_t batch = size_window() / 8 + 1, dirty = 0, sum = 0;
    for (uint32_t record = 0; record < records; record++) {
        apply(record);
        if (++dirty >= batch) {
            sum ^= flush_page(record);
            dirty = 0;
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    reserve_frames = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1365;
    uint32_t rounds = 0;
    for (int round = 0; round < 12; round++)
        rounds += replay(RECORDS) != 0;
    printf("replayed %d records\n", RECORDS);
    return rounds > 100;
}
