// Adds up prices with tax: a filter that uses the numbers of a document, and its own, many times.
#include <jq.h>
#include <jv.h>
#include <stdio.h>
#include <stdlib.h>

static const char DOCUMENT[] = "{\"prices\": [19.99, 4.50, 129.00, 7.25, 1049.95, 0.99, 64.80, 15.49], \"tax\": 1.19}";
static const char FILTER[] = ".count as $count | .tax as $tax | .prices as $prices "
                             "| reduce range(0; $count) as $k (0; . + $prices[$k % 8] * $tax) | floor";

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: prices COUNT\n");
        return 2;
    }
    jq_state *jq = jq_init();
    if (!jq || !jq_compile(jq, FILTER)) {
        fprintf(stderr, "prices: the filter cannot be compiled\n");
        return 1;
    }
    jv document = jv_object_set(jv_parse(DOCUMENT), jv_string("count"), jv_number(atoi(argv[1])));
    jq_start(jq, document, 0);
    jv sum = jq_next(jq);
    if (!jv_is_valid(sum)) {
        fprintf(stderr, "prices: no result\n");
        return 1;
    }
    printf("%.0f\n", jv_number_value(sum));
    jv_free(sum);
    jq_teardown(&jq);
    return 0;
}
