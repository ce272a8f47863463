/* Finds where reads belong in a genome that holds a sequence many times. */
#include <minimap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long noise = 11;

static unsigned drawn(unsigned below) {
    noise = noise * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)((noise >> 33) % below);
}

static void write_letters(char *place, int count) {
    for (int i = 0; i < count; i++)
        place[i] = "ACGT"[drawn(4)];
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: reads LETTERS COPIES READS\n");
        return 2;
    }
    enum { REPEAT = 800, READ = 8000 };
    int letters = atoi(argv[1]), copies = atoi(argv[2]), reads = atoi(argv[3]), found = 0, places = 0;
    char *genome = malloc((size_t)letters + 1), repeat[REPEAT], read[READ + 1];
    if (!genome)
        return 1;
    write_letters(genome, letters);
    genome[letters] = 0;
    write_letters(repeat, REPEAT);
    for (int i = 0; i < copies; i++)
        memcpy(genome + (long)(letters - REPEAT) * i / copies, repeat, REPEAT);
    mm_idxopt_t how_indexed;
    mm_mapopt_t how_mapped;
    mm_verbose = 1;
    mm_set_opt(NULL, &how_indexed, &how_mapped);
    if (mm_set_opt("map-hifi", &how_indexed, &how_mapped))
        return 1;
    const char *sequences[] = {genome}, *names[] = {"genome"};
    mm_idx_t *index = mm_idx_str(how_indexed.w, how_indexed.k, 0, how_indexed.bucket_bits, 1, sequences, names);
    mm_mapopt_update(&how_mapped, index);
    mm_tbuf_t *buffer = mm_tbuf_init();
    for (int i = 0; i < reads; i++) {
        int from = (int)drawn((unsigned)(letters - READ)), hits;
        memcpy(read, genome + from, READ);
        read[READ] = 0;
        for (int j = 0; j < READ / 200; j++)
            read[drawn(READ)] = "ACGT"[drawn(4)];
        mm_reg1_t *regions = mm_map(index, READ, read, &hits, buffer, &how_mapped, "read");
        for (int j = 0; j < hits; j++) {
            found += regions[j].rs <= from + 50 && regions[j].rs + 50 >= from;
            free(regions[j].p);
        }
        places += hits;
        free(regions);
    }
    printf("%d %d\n", found, places > 0);
    mm_tbuf_destroy(buffer);
    mm_idx_destroy(index);
    free(genome);
    return 0;
}
