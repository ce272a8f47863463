#include <stdlib.h>

void visit_siblings(long count);

int main(int argc, char **argv) {
    visit_siblings(argc > 1 ? atol(argv[1]) : 1);
    return 0;
}
