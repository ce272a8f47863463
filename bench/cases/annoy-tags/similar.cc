// Makes an index of articles by their tags, and finds for some articles those whose tags are most alike.
#include <annoylib.h>
#include <kissrandom.h>

namespace {

using Index = Annoy::AnnoyIndex<int32_t, uint64_t, Annoy::Hamming, Annoy::Kiss64Random,
                                Annoy::AnnoyIndexSingleThreadedBuildPolicy>;

const int TAGS = 4096, WORDS = TAGS / 64, TAGS_EACH = 32;

unsigned long noise = 5;

unsigned drawn(unsigned below) {
    noise = noise * 6364136223846793005ul + 1442695040888963407ul;
    return static_cast<unsigned>((noise >> 33) % below);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: similar ARTICLES TREES ASKED\n");
        return 2;
    }
    const int articles = atoi(argv[1]), trees = atoi(argv[2]), asked = atoi(argv[3]);
    Index index(WORDS);
    for (int i = 0; i < articles; i++) {
        std::vector<uint64_t> tags(WORDS);
        for (int j = 0; j < TAGS_EACH; j++) {
            const unsigned tag = drawn(TAGS);
            tags[tag / 64] |= 1ul << tag % 64;
        }
        index.add_item(i, tags.data());
    }
    index.build(trees);
    unsigned long sum = 0;
    for (int i = 0; i < asked; i++) {
        std::vector<int32_t> found;
        std::vector<uint64_t> distances;
        index.get_nns_by_item(static_cast<int32_t>(drawn(static_cast<unsigned>(articles))), 10, -1, &found, &distances);
        sum += found.empty() ? 0 : distances[0];
    }
    printf("%d %lu\n", index.get_n_items(), sum);
    return 0;
}
