/* Reads an archive of measurements some times and tells their mean and spread. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct header {
    uint16_t release, values;
    uint32_t number;
    uint64_t taken; /* since release 2 */
};

static double spread(const uint16_t *values, unsigned count) {
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < count; i++) {
        double value = log(1 + values[i]);
        sum += value;
        squares += value * value;
    }
    return sqrt(squares / count - sum / count * sum / count);
}

static double read_all(const char *path) {
    static uint16_t values[65536];
    struct header header;
    double sum = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        exit(1);
    while (gzread(file, &header, sizeof header) == sizeof header) {
        if (header.release < 2 && gzseek(file, -(z_off_t)sizeof header.taken, SEEK_CUR) < 0)
            exit(1);
        if (gzread(file, values, header.values * 2u) != header.values * 2)
            exit(1);
        sum += spread(values, header.values);
    }
    gzclose(file);
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: measurements FILE TIMES\n");
        return 2;
    }
    double sum = 0;
    for (int i = 0; i < atoi(argv[2]); i++)
        sum += read_all(argv[1]);
    printf("%.6f\n", sum);
    return 0;
}
