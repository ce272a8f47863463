// Coins kept in LevelDB, looked up all over the store to check what spends them. How many of its files LevelDB may
// keep open is all that differs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <string>

#include "leveldb/db.h"

namespace {

constexpr unsigned kCoins = 140000, kCoinBytes = 1000;

void Check(const leveldb::Status &status) {
    if (!status.ok()) {
        fprintf(stderr, "coins: %s\n", status.ToString().c_str());
        exit(1);
    }
}

std::string Key(unsigned coin) {
    char text[24];
    snprintf(text, sizeof text, "coin:%010u", coin);
    return text;
}

std::unique_ptr<leveldb::DB> Open(const char *folder, int open_files) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = leveldb::kNoCompression;
    options.max_file_size = 1 << 20;
    options.max_open_files = open_files;
    leveldb::DB *opened = nullptr;
    Check(leveldb::DB::Open(options, folder, &opened));
    return std::unique_ptr<leveldb::DB>(opened);
}

void Make(const char *folder) {
    const std::unique_ptr<leveldb::DB> store = Open(folder, 1000);
    std::string script(kCoinBytes, 's');
    unsigned random = 1;
    for (unsigned coin = 0; coin < kCoins; coin++) {
        for (unsigned k = 0; k < kCoinBytes; k += 10) {
            random = random * 1103515245 + 12345;
            script[k] = static_cast<char>('a' + random / 65536 % 26);
        }
        Check(store->Put({}, Key(coin), script));
    }
    store->CompactRange(nullptr, nullptr);
}

unsigned Digest(const std::string &script, unsigned seed) {
    unsigned digest = seed ^ 2166136261u;
    for (int round = 0; round < 4; round++) {
        for (const char c : script) {
            digest = (digest ^ static_cast<unsigned char>(c)) * 16777619u;
        }
    }
    return digest;
}

unsigned Verify(const char *folder, int open_files, unsigned lookups) {
    const std::unique_ptr<leveldb::DB> store = Open(folder, open_files);
    std::string script;
    unsigned random = 1, digest = 0;
    for (unsigned k = 0; k < lookups; k++) {
        random = random * 1103515245 + 12345;
        Check(store->Get({}, Key(random / 4096 % kCoins), &script));
        digest = Digest(script, digest);
    }
    return digest;
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "make") == 0) {
        Make(argv[2]);
    } else if (argc == 5 && strcmp(argv[1], "verify") == 0) {
        printf("%08x\n", Verify(argv[2], atoi(argv[3]), static_cast<unsigned>(atoi(argv[4]))));
    } else {
        fprintf(stderr, "usage: coins make FOLDER, or coins verify FOLDER OPEN_FILES LOOKUPS\n");
        return 2;
    }
    return 0;
}
