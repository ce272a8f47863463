// Headers of alignments are reduced to one reference each, as before a single region is written to a file of its own.
// The same number of references in one header, or in many.
#include <htslib/kstring.h>
#include <htslib/sam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t reduced(unsigned references) {
    kstring_t text = {0, 0, NULL};
    kputs("@HD\tVN:1.6\tSO:coordinate\n", &text);
    for (unsigned i = 0; i < references; i++) {
        ksprintf(&text, "@SQ\tSN:scaffold_%u\tLN:%u\tM5:%032x\n", i, 1000 + i % 977, i);
    }
    sam_hdr_t *header = sam_hdr_parse(text.l, text.s);
    if (!header || sam_hdr_count_lines(header, "SQ") != (int)references ||
        sam_hdr_remove_except(header, "SQ", "SN", "scaffold_0") != 0) {
        fprintf(stderr, "regions: the header is not understood\n");
        exit(1);
    }
    const size_t left = strlen(sam_hdr_str(header));
    sam_hdr_destroy(header);
    free(text.s);
    return left;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: regions HEADERS REFERENCES\n");
        return 2;
    }
    const unsigned headers = (unsigned)atoi(argv[1]), references = (unsigned)atoi(argv[2]);
    size_t left = 0;
    for (unsigned i = 0; i < headers; i++) {
        left += reduced(references);
    }
    printf("%zu bytes are left\n", left);
    return 0;
}
