long search(long size);

long search(long size) {
    volatile long found = 0;
    for (long i = 0; i < size; i++) {
        found += i & 3;
    }
    return found;
}
