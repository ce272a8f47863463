#include <stdio.h>
#include <stdlib.h>

int sink;

__attribute__((noinline)) static void complain(int code) {
  fprintf(stderr, "code %d\n", code);
  exit(code);
}

__attribute__((noinline)) int checked(int n) {
  if (n < 0) complain(n);
  sink += n;
  return n + 1;
}

__attribute__((noinline)) int aborts(int n) {
  if (n < 0) abort();
  sink += n;
  return n + 1;
}

__attribute__((noinline)) int nested(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      if ((i ^ j) & sink) sum += sink;
      sink++;
    }
    sum ^= i;
  }
  return sum;
}

__attribute__((noinline)) int choose(int n) {
  switch (n) {
    case 0: sink += 1; break;
    case 1: sink *= 3; break;
    case 2: sink -= 7; break;
    case 3: sink ^= 21; break;
    case 4: sink = ~sink; break;
    case 5: sink += sink << 3; break;
    case 6: return 5;
    case 7: sink = 0; break;
    default: sink = 99;
  }
  return sink & 15;
}

/* `&&label` arrays are tables of addresses. */
__attribute__((noinline)) int dispatch(const unsigned char *code) {
  static void *const labels[] = {&&end, &&add, &&subtract, &&twice};
  int value = 0;
  goto *labels[*code++];
add:
  value += sink;
  goto *labels[*code++];
subtract:
  value -= sink;
  goto *labels[*code++];
twice:
  value *= 2;
  goto *labels[*code++];
end:
  return value;
}

/* A loop with two entries. */
__attribute__((noinline)) int irreducible(int n) {
  if (n & 1) goto middle;
  do {
    sink += n;
  middle:
    sink ^= 5;
    n--;
  } while (n > 0);
  return sink;
}

__attribute__((noinline)) int tail(int n) {
  sink++;
  return n > 3 ? nested(n) : choose(n);
}

int (*pointer)(int) = checked;

__attribute__((noinline)) int tail_by_pointer(int n) {
  sink++;
  return pointer(n);
}

int main(int count, char **words) {
  (void)words;
  return checked(count) + aborts(count) + nested(count) + choose(count) + dispatch((const unsigned char *)"\1\2\3") +
         irreducible(count) + tail(count) + tail_by_pointer(count);
}
