// Reads of a long chromosome, few of them: written with an index when the number of questions is left out, else
// those of short ranges are counted.
#include <htslib/sam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned LENGTH = 240000000, READ = 100;

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int write_reads(const char *name, unsigned reads) {
    char text[64], sequence[101], quality[101], label[32];
    unsigned state = 1;
    snprintf(text, sizeof text, "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:%u\n", LENGTH);
    sam_hdr_t *header = sam_hdr_parse(strlen(text), text);
    samFile *file = sam_open(name, "wb");
    bam1_t *read = bam_init1();
    int failed = !header || !file || sam_hdr_write(file, header) < 0;
    const uint32_t cigar = READ << BAM_CIGAR_SHIFT | BAM_CMATCH;
    for (unsigned k = 0; k < reads && !failed; k++) {
        for (unsigned b = 0; b < READ; b++) {
            sequence[b] = "ACGT"[next(&state) % 4];
            quality[b] = (char)(20 + next(&state) % 20);
        }
        int length = snprintf(label, sizeof label, "read%u", k);
        const hts_pos_t place = (hts_pos_t)((double)k / reads * (LENGTH - 1000)) + next(&state) % 50;
        failed = bam_set1(read, (size_t)length, label, 0, 0, place, 60, 1, &cigar, -1, -1, 0, READ, sequence, quality,
                          0) < 0 ||
                 sam_write1(file, header, read) < 0;
    }
    bam_destroy1(read);
    failed |= file && sam_close(file) < 0;
    sam_hdr_destroy(header);
    return failed || sam_index_build(name, 0) < 0;
}

static unsigned count(samFile *file, const hts_idx_t *index, unsigned questions) {
    bam1_t *read = bam_init1();
    unsigned state = 7, found = 0;
    for (unsigned k = 0; k < questions; k++) {
        const hts_pos_t from = next(&state) % (LENGTH / 16) * 16;
        hts_itr_t *range = sam_itr_queryi(index, 0, from, from + 2000);
        while (sam_itr_next(file, range, read) >= 0) {
            found++;
        }
        hts_itr_destroy(range);
    }
    bam_destroy1(read);
    return found;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: ranges FILE READS [QUESTIONS]\n");
        return 2;
    }
    if (argc == 3) {
        return write_reads(argv[1], (unsigned)atoi(argv[2]));
    }
    samFile *file = sam_open(argv[1], "rb");
    sam_hdr_t *header = file ? sam_hdr_read(file) : NULL;
    hts_idx_t *index = header ? sam_index_load(file, argv[1]) : NULL;
    if (!index) {
        fprintf(stderr, "ranges: %s cannot be read\n", argv[1]);
        return 1;
    }
    printf("%u reads\n", count(file, index, (unsigned)atoi(argv[3])));
    hts_idx_destroy(index);
    sam_hdr_destroy(header);
    return sam_close(file) < 0;
}
