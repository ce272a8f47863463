// Finds the nearest known measurement for each new one. They lie in small clusters, far from each other.
#include <ANN/ANN.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const int DIMENSIONS = 8, CLUSTERS = 1000;

unsigned long noise = 7;

double drawn() {
    noise = noise * 6364136223846793005ul + 1442695040888963407ul;
    return static_cast<double>(noise >> 11) / static_cast<double>(1ul << 53);
}

void measure(ANNpointArray points, int count, const double centers[][DIMENSIONS]) {
    for (int i = 0; i < count; i++)
        for (int d = 0; d < DIMENSIONS; d++)
            points[i][d] = centers[i % CLUSTERS][d] + drawn() * 1e-6;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: nearest midpoint|suggested KNOWN NEW\n");
        return 2;
    }
    const ANNsplitRule rule = strcmp(argv[1], "midpoint") == 0 ? ANN_KD_MIDPT : ANN_KD_SUGGEST;
    const int known = atoi(argv[2]), asked = atoi(argv[3]);
    static double centers[CLUSTERS][DIMENSIONS];
    for (auto &center : centers)
        for (double &at : center)
            at = drawn() * 1000;
    ANNpointArray points = annAllocPts(known, DIMENSIONS), queries = annAllocPts(asked, DIMENSIONS);
    measure(points, known, centers);
    measure(queries, asked, centers);
    double sum = 0;
    {
        ANNkd_tree tree(points, known, DIMENSIONS, 1, rule);
        for (int i = 0; i < asked; i++) {
            ANNidx found[3];
            ANNdist distances[3];
            tree.annkSearch(queries[i], 3, found, distances);
            sum += distances[0] + distances[2];
        }
    }
    printf("%.9g\n", sum);
    annDeallocPts(queries);
    annDeallocPts(points);
    annClose();
    return 0;
}
