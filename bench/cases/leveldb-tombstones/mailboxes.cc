// Mailboxes kept in LevelDB: they are listed, read and marked. How many messages of each were deleted beforehand is
// all that differs; every mailbox has as many that are still there.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"

namespace {

constexpr unsigned kUsers = 100, kMessages = 10, kAccounts = 3000;

void Check(const leveldb::Status &status) {
    if (!status.ok()) {
        fprintf(stderr, "mailboxes: %s\n", status.ToString().c_str());
        exit(1);
    }
}

std::string Numbered(const char *kind, unsigned number) {
    char text[32];
    snprintf(text, sizeof text, "%s:%06u", kind, number);
    return text;
}

std::string MessageKey(unsigned user, unsigned number) {
    return Numbered("mail", user) + Numbered("", number);
}

class Store {
  public:
    explicit Store(const std::string &folder) {
        leveldb::Options options;
        options.create_if_missing = true;
        options.compression = leveldb::kNoCompression;
        options.write_buffer_size = 64 << 20; // all of it stays there: no compaction comes in between
        leveldb::DB *opened = nullptr;
        Check(leveldb::DB::Open(options, folder, &opened));
        store_.reset(opened);
    }

    void Fill(unsigned deleted) {
        for (unsigned user = 0; user < kUsers; user++) {
            for (unsigned number = 0; number < deleted + kMessages; number++) {
                Check(store_->Put({}, MessageKey(user, number), Numbered("text", number)));
            }
            for (unsigned number = 0; number < deleted; number++) {
                Check(store_->Delete({}, MessageKey(user, number)));
            }
        }
        for (unsigned account = 0; account < kAccounts; account++) {
            Check(store_->Put({}, Numbered("account", account), Numbered("balance", account)));
        }
    }

    void List(unsigned user) {
        const std::string prefix = Numbered("mail", user) + ":";
        const std::unique_ptr<leveldb::Iterator> place(store_->NewIterator({}));
        for (place->Seek(prefix); place->Valid() && place->key().starts_with(prefix); place->Next()) {
            Count(place->value());
        }
        Check(place->status());
    }

    // What a listing is paid with and, now and then, what was seen last.
    void Mark(unsigned user, unsigned step) {
        std::string balance;
        for (unsigned k = 0; k < 40; k++) {
            Check(store_->Get({}, Numbered("account", (step * 7919 + k * 31) % kAccounts), &balance));
            Count(balance);
        }
        if (step % 10 != 0) {
            return;
        }
        leveldb::WriteBatch batch;
        batch.Put(Numbered("account", user), Numbered("balance", step));
        batch.Put(Numbered("seen", user), std::to_string(checksum_));
        Check(store_->Write({}, &batch));
    }

    unsigned checksum() const { return checksum_; }

  private:
    void Count(const leveldb::Slice &text) {
        for (size_t k = 0; k < text.size(); k++) {
            checksum_ = checksum_ * 31 + static_cast<unsigned char>(text[k]);
        }
    }

    std::unique_ptr<leveldb::DB> store_;
    unsigned checksum_ = 0;
};

void RemoveFolder(const std::string &folder) {
    if (DIR *listing = opendir(folder.c_str())) {
        while (const dirent *entry = readdir(listing)) {
            unlink((folder + "/" + entry->d_name).c_str());
        }
        closedir(listing);
    }
    rmdir(folder.c_str());
}

} // namespace

int main(int argc, char **argv) {
    char folder[] = "/tmp/mailboxes-XXXXXX";
    if (argc != 3 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: mailboxes DELETED LISTINGS\n");
        return 2;
    }
    {
        Store store(folder);
        store.Fill(static_cast<unsigned>(atoi(argv[1])));
        for (unsigned step = 0; step < static_cast<unsigned>(atoi(argv[2])); step++) {
            store.List(step % kUsers);
            store.Mark(step % kUsers, step);
        }
        printf("%08x\n", store.checksum());
    }
    RemoveFolder(folder);
    return 0;
}
