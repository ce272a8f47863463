/* A slow run scans ten times as long. It prints what could be taken for protocol messages, and reads its input. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sink;

static unsigned long scan(long rounds) {
    unsigned long sum = 0;
    for (long round = 0; round < rounds; round++)
        for (int at = 0; at < 1000; at++)
            sum += (unsigned long)(round ^ at) * 2654435761u;
    return sum;
}

static unsigned long settle(long rounds) {
    unsigned long sum = 1;
    for (long round = 0; round < rounds; round++)
        for (int at = 0; at < 1000; at++)
            sum ^= sum * 31 + (unsigned long)at;
    return sum;
}

int main(int argc, char **argv) {
    long rounds = atol(argv[1]);
    if (getchar() != EOF)
        return 3;
    for (int line = 0; line < 100; line++)
        printf("{\"jsonrpc\": \"2.0\", \"id\": %d, \"result\": {\"noise\": true}}\n", line);
    fflush(stdout);
    fprintf(stderr, "{\"jsonrpc\": \"2.0\", \"method\": \"noise\"}\n");
    sink += settle(50000);
    do {
        sink += scan(rounds);
        fprintf(stderr, "%10000s\n", "noise");
    } while (argc > 2);
    return 0;
}
