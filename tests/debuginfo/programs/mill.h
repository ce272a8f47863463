static inline long twice(long x) {
    long doubled = x * 2;
    return doubled ^ 1; // which no machine does together with the addition at its call
}

long other_file(long x);
void report_stone(long where) __attribute__((cold));
