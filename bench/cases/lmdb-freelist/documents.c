// A document store on LMDB: large documents are rewritten, small records are read and counted.
// How half of an old archive was deleted beforehand, in one piece or every other record, is all that differs.
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARCHIVED = 40000, ARCHIVED_BYTES = 3000, DOCUMENTS = 200, RECORDS = 5000, BATCH = 20 };

static char folder[] = "/tmp/documents-XXXXXX";
static char document[24000];

static void check(int status, const char *what) {
    if (status) {
        fprintf(stderr, "documents: %s: %s\n", what, mdb_strerror(status));
        exit(1);
    }
}

static MDB_txn *begin(MDB_env *env, unsigned flags) {
    MDB_txn *txn = NULL;
    check(mdb_txn_begin(env, NULL, flags, &txn), "begin");
    return txn;
}

static void put(MDB_txn *txn, MDB_dbi table, uint32_t number, size_t size) {
    memcpy(document, &number, sizeof number);
    MDB_val key = {sizeof number, &number}, value = {size, document};
    check(mdb_put(txn, table, &key, &value, 0), "put");
}

static void forget(MDB_txn *txn, MDB_dbi table, uint32_t number) {
    MDB_val key = {sizeof number, &number};
    check(mdb_del(txn, table, &key, NULL), "delete");
}

static uint32_t checksum_of(MDB_txn *txn, MDB_dbi table, uint32_t number) {
    MDB_val key = {sizeof number, &number}, value;
    check(mdb_get(txn, table, &key, &value), "get");
    uint32_t sum = 0;
    for (size_t i = 0; i < value.mv_size; i++) {
        sum = sum * 31 + ((const unsigned char *)value.mv_data)[i];
    }
    return sum;
}

static void fill_archive(MDB_env *env, MDB_dbi archive) {
    MDB_txn *txn = begin(env, 0);
    for (uint32_t number = 0; number < ARCHIVED; number++) {
        put(txn, archive, number, ARCHIVED_BYTES);
    }
    check(mdb_txn_commit(txn), "commit");
}

static void thin_out(MDB_env *env, MDB_dbi archive, int scattered) {
    MDB_txn *txn = begin(env, 0);
    for (uint32_t number = 0; number < ARCHIVED / 2; number++) {
        forget(txn, archive, scattered ? 2 * number : number);
    }
    check(mdb_txn_commit(txn), "commit");
}

static uint32_t work(MDB_env *env, MDB_dbi documents, MDB_dbi records, uint32_t rounds) {
    uint32_t sum = 0, random = 1;
    for (uint32_t round = 0; round < rounds; round++) {
        MDB_txn *txn = begin(env, 0);
        for (uint32_t k = 0; k < BATCH; k++) {
            random = random * 1103515245 + 12345;
            put(txn, documents, random / 65536 % DOCUMENTS, 9000 + random % 15000);
            put(txn, records, random / 256 % RECORDS, 40 + random % 100);
        }
        check(mdb_txn_commit(txn), "commit");
        txn = begin(env, MDB_RDONLY);
        for (uint32_t k = 0; k < BATCH; k++) {
            sum ^= checksum_of(txn, records, (round * BATCH + k) % RECORDS) ^ checksum_of(txn, documents, k);
        }
        mdb_txn_abort(txn);
    }
    return sum;
}

static void remove_store(void) {
    for (int k = 0; k < 2; k++) {
        char path[sizeof folder + 16];
        snprintf(path, sizeof path, "%s/%s", folder, k ? "lock.mdb" : "data.mdb");
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: documents block|scattered ROUNDS\n");
        return 2;
    }
    MDB_env *env;
    MDB_dbi archive, documents, records;
    if (!mkdtemp(folder)) {
        perror("documents");
        return 1;
    }
    atexit(remove_store);
    check(mdb_env_create(&env), "create");
    check(mdb_env_set_mapsize(env, (size_t)1 << 30), "size");
    check(mdb_env_set_maxdbs(env, 3), "tables");
    check(mdb_env_open(env, folder, MDB_NOSYNC, 0600), "open");
    MDB_txn *txn = begin(env, 0);
    check(mdb_dbi_open(txn, "archive", MDB_CREATE | MDB_INTEGERKEY, &archive), "open");
    check(mdb_dbi_open(txn, "documents", MDB_CREATE | MDB_INTEGERKEY, &documents), "open");
    check(mdb_dbi_open(txn, "records", MDB_CREATE | MDB_INTEGERKEY, &records), "open");
    for (uint32_t number = 0; number < RECORDS; number++) {
        put(txn, records, number, 100);
    }
    for (uint32_t number = 0; number < DOCUMENTS; number++) {
        put(txn, documents, number, 9000);
    }
    check(mdb_txn_commit(txn), "commit");
    fill_archive(env, archive);
    thin_out(env, archive, strcmp(argv[1], "scattered") == 0);
    printf("%08x\n", work(env, documents, records, (uint32_t)atoi(argv[2])));
    mdb_env_close(env);
    return 0;
}
